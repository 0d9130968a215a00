import { readFileSync } from "node:fs";
import { type Component, npmPurl } from "./component.ts";
import { lockedPackage } from "./lockfile.ts";
import { bsd3, mit } from "./notices.ts";
import { bunOf, ripgrepOf } from "./programs.ts";
import { hostTarget, type Target } from "./targets.ts";

/** Bun, ripgrep, and the libraries that are linked into them. */
export function programComponents(target: Target): readonly Component[] {
  const { ripgrep, pcre2 } = versionsOfRipgrep();
  return [
    packageOf(bunOf(target).packageName, "MIT AND LGPL-2.0-or-later AND LGPL-2.1-or-later", bunNotice()),
    packageOf(
      ripgrepOf(target).packageName,
      "MIT",
      readFileSync("node_modules/@vscode/ripgrep/LICENSE", "utf8").trim(),
    ),
    {
      name: "ripgrep",
      version: ripgrep,
      license: "MIT",
      text: `${mit("Copyright (c) 2015 Andrew Gallant")}\n\nIt is linked with musl:\n\n${mit("Copyright (c) 2005-2020 Rich Felker, et al.")}`,
      purl: `pkg:cargo/ripgrep@${ripgrep}`,
    },
    {
      name: "pcre2",
      version: pcre2,
      license: "BSD-3-Clause WITH PCRE2-exception",
      text: bsd3(
        "Copyright (c) 1997-2007 University of Cambridge\nCopyright (c) 2007-2024 Philip Hazel\nCopyright (c) 2009-2024 Zoltan Herczeg",
      ),
      purl: `pkg:github/PCRE2Project/pcre2@pcre2-${pcre2}`,
    },
  ];
}

function packageOf(name: string, license: string, text: string): Component {
  const { version, integrity } = lockedPackage(`node_modules/${name}`);
  return { name, version, license, text, purl: npmPurl(name, version), integrity };
}

/** The page of Bun's documentation on what it links, with the licences that it names as JavaScriptCore's. */
function bunNotice(): string {
  const page = readFileSync("node_modules/bun-types/docs/project/license.mdx", "utf8").replace(
    /^---\n[\s\S]*?\n---\n/,
    "",
  );
  const lgpl = ["LGPL-2.0", "LGPL-2.1"].map((name) => readFileSync(`release/licenses/${name}.txt`, "utf8").trim());
  return [page.trim(), ...lgpl].join("\n\n");
}

/** As the one for this machine says; the lock file has the same version for all. */
function versionsOfRipgrep(): { ripgrep: string; pcre2: string } {
  const { path } = ripgrepOf(hostTarget() ?? "linux-x64");
  const said = Bun.spawnSync([path, "--version"]).stdout.toString();
  const [, ripgrep] = /^ripgrep (\S+)/.exec(said) ?? [];
  const [, pcre2] = /^PCRE2 (\S+)/m.exec(said) ?? [];
  if (ripgrep === undefined || pcre2 === undefined) throw new Error(`"${path} --version" names no versions: "${said}"`);
  return { ripgrep, pcre2 };
}
