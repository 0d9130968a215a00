/** A value from outside as a message quotes it. */
export function excerptOfJson(value: unknown): string {
  const json = JSON.stringify(value) ?? "missing";
  return json.length <= 60 ? json : `${json.slice(0, 59)}…`;
}
