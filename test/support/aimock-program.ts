/**
 * An independent mock of the providers' APIs, as a model that does one small task, with faults of its own making:
 * `bun test/support/aimock-program.ts SEED FAULTS`. It prints its URL and serves until it is killed.
 */
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from "@copilotkit/aimock";
import type { MockFaults } from "./aimock.ts";
import { seeded } from "./random.ts";

const [seed = "1", faults = "{}"] = process.argv.slice(2);
const { cutRate = 0, ...chaos } = JSON.parse(faults) as MockFaults;
// The mock draws its faults from here.
Math.random = seeded(Number(seed));

/** The note that the prompt asks for. */
function numberOf({ messages }: ChatCompletionRequest): string {
  const prompt = messages.findLast(({ role }) => role === "user")?.content;
  return /note (\d+)/.exec(JSON.stringify(prompt))?.[1] ?? "?";
}

const call = (name: string, input: object) => ({ name, arguments: JSON.stringify(input) });
const reasoning = "The note comes first.";
const outliving = `sh -c 'sleep 600; :' "$PWD" > /dev/null 2>&1 &`;

/** The model's reply after so many results. */
const steps: readonly ((note: string) => FixtureResponse)[] = [
  (note) => ({ reasoning, toolCalls: [call("Write", { path: "note.txt", content: `note ${note}\n` })] }),
  () => ({ toolCalls: [call("Bash", { command: `${outliving} printf 'kept\\n' >> note.txt` })] }),
  () => ({ content: "I look at it.", toolCalls: [call("Read", { path: "note.txt" })] }),
  (note) => ({ reasoning, content: `Note ${note} is written, and it has been kept.` }),
];

const mock = new LLMock({ port: 0, chunkSize: 8, chaos });
for (const [step, respond] of steps.entries()) {
  const isNext = ({ messages }: ChatCompletionRequest) =>
    messages.filter(({ role }) => role === "tool").length === step;
  const response = (request: ChatCompletionRequest) => respond(numberOf(request));
  for (const truncateAfterChunks of [1, 3, 5, 8])
    mock.addFixture({
      match: { predicate: (request) => cutRate > 0 && isNext(request) && Math.random() < cutRate / 4 },
      response,
      truncateAfterChunks,
    });
  mock.addFixture({ match: { predicate: isNext }, response });
}
await mock.start();
console.log(mock.url);
