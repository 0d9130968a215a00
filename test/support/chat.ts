import { follow, type Line, start, using } from "./koda.ts";
import { openPipe } from "../../lib/system/pipe.ts";
import { closeSync, writeSync } from "node:fs";
import { type ModelServer, type Script, startModelServer } from "./model-server.ts";
import { makePlace, type Place } from "./place.ts";

type ReplyLine = Extract<Line, { type: "reply" }>;

/** `koda chat --json` against a scripted server, with a pipe on stdin. */
export function startChat(place: Place, server: ModelServer, ...args: string[]) {
  const pipe = openPipe();
  if (pipe === undefined) throw new Error("there are no pipes here");
  const child = start(place, ["chat", "--json", ...using(server), ...args], { stdin: pipe.read });
  closeSync(pipe.read);
  const run = follow(child);
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(pipe.write);
    isOpen = false;
  };
  const submit = (...submissions: unknown[]) =>
    void writeSync(
      pipe.write,
      submissions.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`).join(""),
    );
  const until = run.until.bind(run);
  return {
    child,
    submit,
    close,
    until,
    /** The reply to a submission. */
    async reply(id: string): Promise<ReplyLine> {
      return (await until((line) => line.type === "reply" && line.submission === id)) as ReplyLine;
    },
    /** Submits one thing and waits for its reply. */
    async ask(submission: { op: string; id: string } & Record<string, unknown>): Promise<ReplyLine> {
      submit(submission);
      return await this.reply(submission.id);
    },
    /** Ends the input, and waits for the end. */
    async finish() {
      close();
      return await run.finished();
    },
    async [Symbol.asyncDispose]() {
      close();
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** The same with a server and a place of its own. */
export async function openChat(script: Script, { place = makePlace(), args = [] as readonly string[] } = {}) {
  const server = await startModelServer(script);
  const chat = startChat(place, server, ...args);
  return {
    ...chat,
    server,
    place,
    async [Symbol.asyncDispose]() {
      await chat[Symbol.asyncDispose]();
      await server.close();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** The user's messages of a request, without the environment. */
export function promptsOf(request: ModelServer["requests"][number] | undefined): string[] {
  const users = (request?.lines ?? []).filter(({ role }) => role === "user").map(({ text }) => text);
  return users.filter((text) => !text.startsWith("<environment"));
}
