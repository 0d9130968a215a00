import { runChat } from "../lib/chat/chat.ts";
import { Host } from "../lib/conversation/host.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import { chatParts, rememberPrefix } from "./chatsettings.ts";
import { deliver, notifierFor } from "./deliver.ts";
import { inputLines } from "./lines.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import { cassetteOf } from "./settings.ts";
import type { Stopper } from "./signals.ts";
import { sinkFor } from "./stdio.ts";

/** `koda chat`: a conversation for people, or with --json for programs, and the exit code of its last event. */
export async function chat(options: CommandOptions<"chat">, stopper: Stopper): Promise<number> {
  if (options.printSchema) return await printSchemas();
  if (!options.json) return await (await import("./linechat.ts")).lineChat(options, stopper);
  const { run, ...parts } = chatParts(options);
  return await deliver(
    (conclude, delivered) => {
      const host = new Host({ stop: stopper.controller, cassette: cassetteOf(run), reaper: new Reaper() });
      stopper.killNow = () => host.killNow();
      const lines = inputLines(Bun.stdin.stream(), host.signal);
      return runChat(host, { ...parts, lines, remember: rememberPrefix, canAnswer: true, conclude, delivered });
    },
    {
      sink: await sinkFor({ ...run, output: "jsonl" }),
      stop: stopper.controller,
      notifier: await notifierFor(options),
    },
  );
}

async function printSchemas(): Promise<number> {
  const [{ submissionJsonSchema }, { lineJsonSchema }] = await Promise.all([
    import("../lib/chat/submission.ts"),
    import("../lib/engine/event.ts"),
  ]);
  await print(asJson({ submission: submissionJsonSchema(), event: lineJsonSchema() }));
  return 0;
}
