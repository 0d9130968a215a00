/** A number with its noun: `1 file`, `12,345 files`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
