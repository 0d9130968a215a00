/**
 * The queue of the tasks of a batch that need these labels: `batch` or `batch/gpu/large`. pg-boss takes letters,
 * digits, `_`, `-`, `.` and `/` in a name, so everything else in a label becomes `.` and two digits for each byte.
 */
export function queueNameOf(batch: string, labels: readonly string[]): string {
  return [batch, ...labels.toSorted().map(escapedLabel)].join("/");
}

function escapedLabel(label: string): string {
  const bytes = new TextEncoder().encode(label);
  return [...bytes].map((byte) => (isPlain(byte) ? String.fromCharCode(byte) : `.${hex(byte)}`)).join("");
}

function isPlain(byte: number): boolean {
  return /[\w-]/.test(String.fromCharCode(byte)) && byte < 128;
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
