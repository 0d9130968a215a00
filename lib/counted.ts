/** A number with its noun: `1 file`, `12,345 files`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${withCommas(number)} ${number === 1 ? one : many}`;
}

/** A whole number as `12,345`. The first `toLocaleString` of a process takes a millisecond. */
export function withCommas(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
