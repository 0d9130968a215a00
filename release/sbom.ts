import { version } from "../package.json";
import type { Component } from "./component.ts";
import type { Commit } from "./commit.ts";
import { sha256 } from "./sha256.ts";

/** A binary of the release, with what it is made of. */
type Binary = { target: string; sha256: string; components: readonly Component[] };

/** The software bill of materials of all binaries, as CycloneDX 1.6. */
export function sbom(binaries: readonly Binary[], commit: Commit): string {
  const components = new Map(
    binaries.flatMap((each) => each.components).map((component) => [component.purl, component]),
  );
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(commit.seconds * 1000).toISOString(),
      component: { type: "application", "bom-ref": root, name: "koda", version, purl: root, ...licensed("MIT") },
    },
    components: [...binaries.map(binaryEntry), ...[...components.values()].sort(byPurl).map(componentEntry)],
    dependencies: [
      { ref: root, dependsOn: binaries.map(refOf) },
      ...binaries.map((binary) => ({
        ref: refOf(binary),
        dependsOn: binary.components.map(({ purl }) => purl).sort(),
      })),
    ],
  };
  const serialNumber = `urn:uuid:${uuidOf(sha256(JSON.stringify(document)))}`;
  return `${JSON.stringify({ ...document, serialNumber }, undefined, 2)}\n`;
}

const root = `pkg:generic/koda@${version}`;

function refOf({ target }: Binary): string {
  return `${root}#${target}`;
}

function binaryEntry(binary: Binary) {
  const hashes = [{ alg: "SHA-256", content: binary.sha256 }];
  return {
    type: "application",
    "bom-ref": refOf(binary),
    name: `koda-${binary.target}`,
    version,
    hashes,
    ...licensed("MIT"),
  };
}

function componentEntry({ name, version, license, purl, integrity }: Component) {
  // Of the package as the registry has it, in base64 there and in hex here.
  const digest = integrity && Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
  const hashes = digest === undefined ? {} : { hashes: [{ alg: "SHA-512", content: digest }] };
  return { type: "library", "bom-ref": purl, name, version, purl, ...hashes, ...licensed(license) };
}

function licensed(license: string) {
  return { licenses: [license.includes(" ") ? { expression: license } : { license: { id: license } }] };
}

function byPurl(a: Component, b: Component): number {
  return a.purl < b.purl ? -1 : 1;
}

/** The form of version 8: bits of one's own choice. */
function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
