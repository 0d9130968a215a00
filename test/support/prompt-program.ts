/**
 * `readPrompt` in a process of its own, whose standard input is what the test makes it: prints the prompt, or the
 * error, as one line of JSON. Its first argument is the options; the second one may be a user to become.
 */
import { readPrompt } from "../../cmd/prompt.ts";
import { errnoOf, messageOf } from "../../lib/errors.ts";

const [options = "{}", uid] = process.argv.slice(2);
if (uid !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}

const controller = new AbortController();
process.on("SIGINT", () => controller.abort(new Error("stopped by the signal")));
const result = await readPrompt({ image: [], ...JSON.parse(options) }, { signal: controller.signal }).then(
  ({ parts }) => ({ parts }),
  (error: unknown) => ({ error: { code: errnoOf(error), message: messageOf(error) } }),
);
const isStopped = controller.signal.aborted;
await Bun.write(Bun.stdout, `${JSON.stringify({ ...result, rssMb: process.memoryUsage.rss() / 1e6 })}\n`);
// A named pipe that nobody opens would keep the process; otherwise it ends when its notes are written.
if (isStopped) process.exit(0);
// So would a pipe that was silent and may still be written to.
controller.abort(new Error("the prompt is read"));
