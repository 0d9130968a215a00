/** Fetches the URLs given, every name of which is this machine, and prints what came of each: for tests that need an environment of their own. */
import { egressTo, fetched } from "./site.ts";

const urls = process.argv.slice(2);
const allow = urls.map((url) => new URL(url).host);
const ports = urls.map((url) => ({ port: Number(new URL(url).port) }));
const outcomes: string[] = [];
for (const url of urls) {
  const outcome = await fetched(url, { egress: egressTo(ports, { allow }) }).then(
    ({ status, bytes }) => `${status} ${bytes.toString()}`,
    (error: Error) => error.message,
  );
  outcomes.push(outcome);
}
console.log(JSON.stringify(outcomes));
