import type { Component } from "./component.ts";

/** The licence of koda's every part that others wrote, as one text. */
export function licenseTexts(components: readonly Component[]): string {
  const sections = components.map(
    ({ name, version, license, text }) => `${line}\n${name} ${version} (${license})\n${line}\n\n${text}\n`,
  );
  return [introduction, ...sections].join("\n");
}

const line = "-".repeat(80);

const introduction = "The koda program contains the following works of others, each under its own licence.\n";
