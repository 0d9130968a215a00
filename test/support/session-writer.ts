/**
 * A process that records a session: DATABASE SESSION ITEMS BYTES. Prints one line of JSON: the session's length, or the
 * error that it met. With ITEMS "endless" it says so after the first item and goes on until it is killed. With BYTES
 * "together" it says that it is there and starts when its stdin ends.
 */
import { KodaError } from "../../lib/errors.ts";
import { openStore } from "../../lib/session/store.ts";
import { retain } from "../../lib/engine/retention.ts";
import { noUsage } from "../../lib/model/usage.ts";
import { call, output, reply, result, start, user } from "./sessions.ts";

const [path = "", id = "", items = "0", bytes = "10"] = process.argv.slice(2);
if (bytes === "together") {
  console.log("ready");
  await Bun.stdin.text();
}
try {
  const store = openStore(path);
  const session = await store.openOrCreate(id, start);
  if (items === "endless") await work();
  for (let n = 0; n < Number(items); n++) session.append(user(`item ${n} ${"x".repeat(Number(bytes) || 10)}`));
  const { length } = session.info;
  session.close();
  store.close();
  console.log(JSON.stringify({ length }));

  /** Turns with calls, results and outputs, one commit after the other; some are compacted or rolled back. */
  async function work(): Promise<void> {
    for (let n = 0; ; n++) {
      session.beginTurn();
      session.append(user(`prompt ${n}`));
      if (n === 0) console.log("working");
      session.append(reply("", call(`a${n}`), call(`b${n}`)));
      session.outputs.save(output(session.outputs.reserve(), `output ${n}\n`.repeat(50)));
      session.append(result(`b${n}`, "second"));
      session.append(result(`a${n}`, "first"));
      session.append(reply("done"));
      session.endTurn("complete");
      if (n % 5 === 4) session.rollback(2);
      if (n % 3 !== 2) continue;
      const { kept, tail } = retain(session.items(), 200);
      session.append({ kind: "compaction", text: `summary ${n}`, kept, tail, usage: noUsage });
    }
  }
} catch (error) {
  if (!(error instanceof KodaError)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
