import type { Processor } from "./processor.ts";

/** The two segments in memory, far enough apart that neither can grow into the other. */
export const codeAddress = 0x10000000;
export const dataAddress = 0x20000000;

const headerBytes = 64;
const entryBytes = 56;
const [executable, loadable, gnuStack] = [2, 1, 0x6474e551] as const;
const [execute, write, read] = [1, 2, 4] as const;

/** A static program of two segments, code that cannot be written and data that cannot be executed, and nothing else. */
export function elfFile(processor: Processor, code: Uint8Array, data: Uint8Array): Uint8Array {
  const { machine, pageBytes } = processor;
  const codeOffset = pageBytes;
  const dataOffset = codeOffset + Math.ceil(code.length / pageBytes) * pageBytes;
  const segments = [
    { type: loadable, flags: read | execute, offset: codeOffset, address: codeAddress, size: code.length },
    { type: loadable, flags: read | write, offset: dataOffset, address: dataAddress, size: data.length },
    // Says that the stack need not be executable.
    { type: gnuStack, flags: read | write, offset: 0, address: 0, size: 0 },
  ];

  const file = new Uint8Array(dataOffset + data.length);
  const view = new DataView(file.buffer);
  // 64 bits, lowest byte first, version 1.
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(16, executable, true);
  view.setUint16(18, machine, true);
  view.setUint32(20, 1, true);
  view.setBigUint64(24, BigInt(codeAddress), true);
  view.setBigUint64(32, BigInt(headerBytes), true);
  view.setUint16(52, headerBytes, true);
  view.setUint16(54, entryBytes, true);
  view.setUint16(56, segments.length, true);

  for (const [index, { type, flags, offset, address, size }] of segments.entries()) {
    const at = headerBytes + entryBytes * index;
    view.setUint32(at, type, true);
    view.setUint32(at + 4, flags, true);
    const fields = [offset, address, address, size, size, pageBytes];
    for (const [n, field] of fields.entries()) view.setBigUint64(at + 8 + 8 * n, BigInt(field), true);
  }
  file.set(code, codeOffset);
  file.set(data, dataOffset);
  return file;
}
