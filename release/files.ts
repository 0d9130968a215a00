import { readFileSync } from "node:fs";
import { bashScript } from "../cmd/completions/bash.ts";
import { fishScript } from "../cmd/completions/fish.ts";
import { zshScript } from "../cmd/completions/zsh.ts";
import type { Commit } from "./commit.ts";
import type { Component } from "./component.ts";
import { licenseTexts } from "./licenses.ts";
import { version } from "../package.json";
import { manualPages } from "./manual.ts";
import type { ArchiveFile } from "./tar.ts";

/**
 * The files that stand beside the binary, by their paths below a prefix such as `/usr` or `~/.local`. A new one is a
 * line here, and is in every archive and package.
 */
export function filesBesideBinary(components: readonly Component[], commit: Commit): readonly ArchiveFile[] {
  return [
    text("share/doc/koda/LICENSE", readFileSync("LICENSE", "utf8")),
    text("share/doc/koda/THIRD-PARTY-LICENSES", licenseTexts(components)),
    text("share/bash-completion/completions/koda", bashScript()),
    text("share/zsh/site-functions/_koda", zshScript()),
    text("share/fish/vendor_completions.d/koda.fish", fishScript()),
    ...[...manualPages({ date: dateOf(commit), version })].map(([path, page]) => text(`share/${path}`, page)),
  ];
}

/** As in 2026-11-20. */
function dateOf({ seconds }: Commit): string {
  return new Date(seconds * 1000).toISOString().slice(0, "2026-11-20".length);
}

function text(path: string, content: string): ArchiveFile {
  return { path, content: Buffer.from(content) };
}
