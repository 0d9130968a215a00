/**
 * The floor of a tool round: read a reply to its end, run `echo` in the shell that koda would use, ask again.
 * `round URL COUNT`.
 */
import { argv } from "node:process";

const [url = "", count = "0"] = argv.slice(2);
const shell = Bun.which("bash") ?? "sh";
const messages: object[] = [{ role: "user", content: "Count." }];

for (let round = 0; round <= Number(count); round++) {
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "scripted", stream: true, messages }),
  });
  const reply = await response.text();
  const command = Bun.spawn([shell, "-c", "echo"], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [output] = await Promise.all([command.stdout.text(), command.stderr.text(), command.exited]);
  messages.push({ role: "user", content: `${reply.length} ${output}` });
}
