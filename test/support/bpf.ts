/** The kernel's part of a filter: runs the instructions that ours are made of, over a call as it would see it. */
export type Call = { audit: number; number: number; args?: readonly number[] };

export function judge(filter: Uint8Array, { audit, number, args = [] }: Call): number {
  const view = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  const data = [number, audit, 0, 0, ...[0, 1, 2, 3, 4, 5].flatMap((index) => halvesOf(args[index] ?? 0))];
  let accumulator = 0;
  for (let at = 0; at * 8 < filter.byteLength; at++) {
    const code = view.getUint16(at * 8, true);
    const [ifSo, ifNot] = [view.getUint8(at * 8 + 2), view.getUint8(at * 8 + 3)];
    const value = view.getUint32(at * 8 + 4, true);
    switch (code) {
      case 0x20:
        accumulator = (data[value / 4] ?? 0) >>> 0;
        break;
      case 0x54:
        accumulator = (accumulator & value) >>> 0;
        break;
      case 0x15:
        at += accumulator === value ? ifSo : ifNot;
        break;
      case 0x35:
        at += accumulator >= value ? ifSo : ifNot;
        break;
      case 0x45:
        at += (accumulator & value) !== 0 ? ifSo : ifNot;
        break;
      case 0x06:
        return value;
      default:
        throw new Error(`The kernel would refuse instruction ${code}`);
    }
  }
  throw new Error("The kernel would refuse a filter that ends without a verdict");
}

function halvesOf(argument: number): [lower: number, upper: number] {
  return [argument % 2 ** 32, Math.floor(argument / 2 ** 32)];
}
