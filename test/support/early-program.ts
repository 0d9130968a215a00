/** Connects to a provider early; when stdin ends, asks it twice as if that had been long ago and prints the statuses. */
import { openEarly } from "../../lib/model/early.ts";

const [url = ""] = process.argv.slice(2);
const fetch = openEarly(url, {}, { staleMs: 0 });
await Bun.stdin.text();
const statuses: number[] = [];
for (let request = 0; request < 2; request++) {
  const response = await fetch(url, { method: "GET", headers: {}, signal: AbortSignal.timeout(20_000) });
  await response.text();
  statuses.push(response.status);
}
console.log(statuses.join(" "));
