import { deflateSync } from "node:zlib";

const digits = Buffer.from("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~");

/** A line has up to 52 bytes, as a letter for their number and in base 85. */
const bytesPerLine = 52;
const lengthLetters = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

/** A whole content as git writes it into a patch of a binary file. */
export function binaryLiteral(content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`literal ${content.length}\n`), encoded(deflateSync(content)), Buffer.from("\n")]);
}

function encoded(bytes: Uint8Array): Buffer {
  const lines = Math.ceil(bytes.length / bytesPerLine);
  const out = Buffer.alloc(lines * (2 + (bytesPerLine / 4) * 5));
  let end = 0;
  for (let at = 0; at < bytes.length; at += bytesPerLine) {
    const line = bytes.subarray(at, at + bytesPerLine);
    out[end++] = lengthLetters[line.length - 1] ?? 0;
    for (let group = 0; group < line.length; group += 4) end = writeGroup(line, group, out, end);
    out[end++] = 0x0a;
  }
  return out.subarray(0, end);
}

/** Four bytes, the first one the most significant, become five digits; bytes after the end count as 0. */
function writeGroup(line: Uint8Array, group: number, out: Buffer, end: number): number {
  let value = 0;
  for (let index = group; index < group + 4; index++) value = value * 256 + (line[index] ?? 0);
  for (let place = end + 4; place >= end; place--) {
    out[place] = digits[value % 85] ?? 0;
    value = Math.floor(value / 85);
  }
  return end + 5;
}
