/** Without letters that look like digits, in the order of their codes. */
const digits = "0123456789abcdefghjkmnpqrstvwxyz";
const timeDigits = 9;
const randomDigits = 3;

/** 12 characters: the milliseconds since 1970, so that ids sort by time, and three that nobody can guess. */
export function newBatchId(nowMs = Date.now()): string {
  let time = "";
  for (let rest = nowMs; time.length < timeDigits; rest = Math.floor(rest / digits.length))
    time = `${digits[rest % digits.length]}${time}`;
  const random = crypto.getRandomValues(new Uint8Array(randomDigits));
  return time + [...random].map((byte) => digits[byte % digits.length]).join("");
}
