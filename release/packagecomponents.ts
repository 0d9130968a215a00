import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Component, npmPurl } from "./component.ts";
import { lockedPackage } from "./lockfile.ts";
import { textNotices } from "./notices.ts";

/** The package at this place, such as `node_modules/zod`. */
export function packageAt(place: string): Component {
  const { version, integrity, license } = lockedPackage(place);
  const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
  if (license === undefined) throw new Error(`"${place}" has no licence in package-lock.json`);
  const text = textNotices[name] ?? licenseFile(place, name);
  return { name, version, license, text, purl: npmPurl(name, version), integrity };
}

function licenseFile(place: string, name: string): string {
  const files = existsSync(place) ? readdirSync(place) : [];
  const file = files.find((candidate) => /^(?:licen[cs]e|copying)/i.test(candidate));
  if (file !== undefined) return readFileSync(join(place, file), "utf8").trim();
  throw new Error(`${name} is in the binary, and its package has no licence: add its text to release/notices.ts`);
}

/** Packages that the author of another one has copied into it, by the comments of his bundler. */
export function copiesIn(path: string): readonly Component[] {
  const within = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
  if (within === undefined || !/\.m?js$/.test(path)) return [];
  const regions = readFileSync(path, "utf8").matchAll(/^\/\/#region .*\/\.pnpm\/([^/]+)@([^@/]+)\/node_modules/gm);
  return [...regions].map(([, flat = "", version = ""]) => {
    const name = flat.replace("+", "/");
    const text = textNotices[name];
    if (text === undefined) throw new Error(`${within} has a copy of ${name}: add its licence to release/notices.ts`);
    return { name, version, license: "MIT", text, purl: npmPurl(name, version) };
  });
}
