/** A process that opens or makes a session, says so on stdout, and holds it until its stdin ends: DATABASE SESSION. */
import { openStore } from "../../lib/session/store.ts";
import { start, user } from "./sessions.ts";

const [path = "", id = ""] = process.argv.slice(2);
const store = openStore(path);
const session = await store.openOrCreate(id, start);
session.append(user("held"));
console.log("held");
await Bun.stdin.text();
session.close();
store.close();
