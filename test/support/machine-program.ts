import { createServer } from "node:net";
import { once } from "node:events";
import { ask, connectWay, portOf } from "./egress.ts";
import { EgressProxies } from "../../lib/egress/proxy/proxy.ts";
import { parseRules } from "../../lib/egress/rules/rules.ts";

/** Asks proxies with `--net open` for hosts, and prints how each is judged. */
const hosts = [
  ..."93.184.216.34 [::ffff:93.184.216.34] [64:ff9b::93.184.216.34] 93.184.217.34 93.184.218.9".split(" "),
  ..."[2606:4700::5] [2606:4700:0:7::1] 93.184.216.35 93.184.219.1 [2606:4700:0:8::1] [2606:4701::1]".split(" "),
];

const server = createServer((socket) => socket.end("hi")).listen(0, "0.0.0.0");
await once(server, "listening");
const port = portOf(server);
const answers: Record<string, string> = {};
for (const host of hosts) answers[host] = await answerOf(host, []);
answers["93.184.216.34, allowed"] = await answerOf("93.184.216.34", [`93.184.216.34:${port}`]);
console.log(JSON.stringify(answers));
process.exit(0);

async function answerOf(host: string, allow: string[]): Promise<string> {
  await using proxies = new EgressProxies({
    rules: parseRules({ mode: "open", allow, deny: [] }),
    onRequest: () => {},
    limits: { connectMs: 200 },
  });
  const here = { host: "127.0.0.1", port: 0 };
  const { http, socks } = await proxies.listen({ http: here, socks: here });
  const { said, socket } = await ask(connectWay, { httpPort: http, socksPort: socks }, port, { host });
  socket.destroy();
  const [, status, reason] =
    /^HTTP\/1\.1 (\d+)[^]*?(?:is (an address of this machine[^ (]*(?: network)?)|\r\n\r\n)/.exec(said.toString()) ?? [];
  if (status === "200") return "reached";
  return status === "403" ? (reason ?? said.toString()) : "public";
}
