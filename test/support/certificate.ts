import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";

/** A certificate of a test's own for some names, signed by its own key, and that key; both as PEM. */
export type Certificate = { certificate: string; key: string };

const ecdsaWithSha256 = sequence(objectId(1, 2, 840, 10045, 4, 3, 2));

export function makeCertificate(names: readonly string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const subject = sequence(set(sequence(objectId(2, 5, 4, 3), der(0x0c, Buffer.from("koda test")))));
  const alternatives = sequence(...names.map((name) => der(0x82, Buffer.from(name))));
  const extension = sequence(objectId(2, 5, 29, 17), der(0x04, alternatives));
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    subject,
    sequence(time("20200101000000Z"), time("20991231235959Z")),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension)),
  );
  const signature = der(0x03, Buffer.of(0), sign(body, privateKey));
  return {
    certificate: pem("CERTIFICATE", sequence(body, ecdsaWithSha256, signature)),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function sign(bytes: Buffer, key: KeyObject): Buffer {
  return createSign("sha256").update(bytes).sign(key);
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

function set(...parts: readonly Uint8Array[]): Buffer {
  return der(0x31, ...parts);
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.of(value));
}

function time(text: string): Buffer {
  return der(0x18, Buffer.from(text));
}

function objectId(first: number, second: number, ...rest: readonly number[]): Buffer {
  return der(0x06, Buffer.of(first * 40 + second, ...rest.flatMap(base128)));
}

function base128(value: number): number[] {
  const septets = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) septets.unshift((left & 0x7f) | 0x80);
  return septets;
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
