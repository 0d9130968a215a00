/** A process that searches all sessions: DATABASE QUERY. Prints how many places it found. */
import { openStore } from "../../lib/session/store.ts";

const [path = "", query = ""] = process.argv.slice(2);
const store = openStore(path);
console.log(store.search(query, 50).matches.length);
store.close();
