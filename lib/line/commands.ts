import type { SettingsChange } from "../chat/submission.ts";
import { type Mode, modes } from "../config/config.ts";
import { withCommas } from "../counted.ts";
import { KodaError } from "../errors.ts";
import { dollars } from "../sink/style.ts";
import { nearest } from "../nearest.ts";
import { visible } from "../visible.ts";
import type { LineChat } from "./linechat.ts";
import { columned, describeList } from "./listed.ts";

/** The parts of commands that read and write files. */
export type LineServices = {
  /** The latest sessions of this directory. */
  sessions(): Promise<string>;
  /**
   * Begins a chat on another session, with these changes of settings, when this one has ended. Throws when there is no
   * such session.
   */
  goOn(how: "resume" | "fork", session: string, changes: readonly SettingsChange[]): Promise<void>;
  /** The end of a session that is continued. */
  tail(session: string): Promise<string>;
  hooks(): Promise<string>;
  /** The starts of commands that need no approval, as the user's configuration has them. */
  approvals(): Promise<readonly string[]>;
  removeApproval(prefix: string): Promise<void>;
  /** Writes the session as Markdown to a file, whose path it returns. */
  exportTo(session: string, file: string | undefined): Promise<string>;
};

export type LineCommand = {
  readonly name: string;
  readonly takes?: string;
  readonly about: string;
  /** No input comes after it, unless it fails. */
  readonly isLast?: true;
  /** Returns the lines to show; the failure of a submission is shown by the sink. */
  run(chat: LineChat, rest: string): Promise<string | undefined>;
};

type List = "tools" | "mcp" | "agents" | "skills" | "prompts";

export const lineCommands: readonly LineCommand[] = [
  { name: "help", about: "Show this list", run: () => Promise.resolve(help()) },
  {
    name: "model",
    takes: "NAME",
    about: "Go on with another model",
    run: (chat, model) => change(chat, model === "" ? {} : { model }),
  },
  { name: "mode", takes: modes.join("|"), about: "What may run without asking you", run: changeMode },
  {
    name: "cd",
    takes: "DIR",
    about: "Go on in another directory",
    run: (chat, cwd) => change(chat, cwd === "" ? {} : { cwd }),
  },
  {
    name: "compact",
    about: "Replace older messages by a summary",
    run: async (chat) => {
      const { result } = await chat.submit({ op: "compact" });
      return (result as { compacted?: boolean } | undefined)?.compacted === false ? "Nothing to compact" : undefined;
    },
  },
  { name: "undo", about: "Take back the last turn and its changes to files", run: undo },
  {
    name: "diff",
    about: "Show what the last turn changed",
    run: (chat) => Promise.resolve(visible(chat.latest("diff")?.patch.trimEnd() ?? "No turn has changed a file")),
  },
  {
    name: "review",
    takes: "[HINT]",
    about: "Review what is not committed yet",
    run: review,
  },
  {
    name: "verify",
    takes: "CMD|off",
    about: "Run CMD on each answer; while it fails the model goes on",
    run: verify,
  },
  { name: "sessions", about: "List the latest sessions of this directory", run: (chat) => chat.services.sessions() },
  { name: "resume", takes: "ID", about: "Go on with another session", isLast: true, run: resume },
  {
    name: "fork",
    about: "Go on with a copy of this session",
    isLast: true,
    run: async (chat) => await goOn(chat, "fork", chat.latest("session.start")?.session ?? ""),
  },
  { name: "new", about: "Begin another session with the same settings", run: clear },
  { name: "clear", about: "The same as /new", run: clear },
  { name: "cost", about: "Show the tokens and the cost of this chat", run: (chat) => Promise.resolve(cost(chat)) },
  list("tools", "List the tools of the model", ["about"]),
  list("mcp", "List the MCP servers", ["status", "error"]),
  list("agents", "List the agents that the model can start", ["description"]),
  list("skills", "List the skills", ["description"]),
  list("prompts", "List your prompts: /NAME sends one", ["path"]),
  { name: "hooks", about: "List the hooks", run: (chat) => chat.services.hooks() },
  {
    name: "approvals",
    takes: "[remove PREFIX]",
    about: "List the commands that need no approval, or remove one",
    run: approvals,
  },
  { name: "export", takes: "[FILE]", about: "Write this session as Markdown to a file", run: exportSession },
  {
    name: "quit",
    about: "End the chat",
    isLast: true,
    run: async (chat) => void (await chat.submit({ op: "shutdown" })),
  },
];

export function commandNamed(name: string): LineCommand | undefined {
  const written = name === "" ? "help" : name === "exit" ? "quit" : name;
  return lineCommands.find((command) => command.name === written);
}

function help(): string {
  const commands = lineCommands.map(({ name, takes, about }) => [`/${[name, takes].filter(Boolean).join(" ")}`, about]);
  const others = [
    ["/NAME", "Send your prompt of that name"],
    ["!COMMAND", "Run a command in the sandbox; the model reads of it"],
    ['"""', "Begin and end several lines; a backslash at the end of a line continues it"],
  ];
  return columned([...commands, ...others].map(([name = "", about = ""]) => [name, about])).join("\n");
}

function list(name: List, about: string, fields: readonly string[]): LineCommand {
  const field = name === "mcp" ? "servers" : name;
  return {
    name,
    about,
    run: async (chat) => {
      const { status, result } = await chat.submit({ op: `${name}.list` });
      return status === "done" ? describeList(result, field, fields) : undefined;
    },
  };
}

async function changeMode(chat: LineChat, word: string): Promise<string | undefined> {
  const mode = modes.find((each) => each === word);
  if (mode !== undefined || word === "") return await change(chat, mode === undefined ? {} : { mode });
  const meant = nearest(word, modes);
  const hint = meant === undefined ? "" : ` (did you mean "${meant}"?)`;
  throw new KodaError("usage", `Unknown mode "${word}"${hint}: expected ${modes.join(", ")}`);
}

async function verify(chat: LineChat, command: string): Promise<string | undefined> {
  if (command === "") throw new KodaError("usage", "Expected a command, such as /verify npm test, or /verify off");
  const { status } = await chat.change({ verify: command === "off" ? null : command });
  if (status !== "done") return undefined;
  return command === "off"
    ? "· Answers are not verified any more"
    : `· From now on an answer has to pass: ${visible(command)}`;
}

/** One line about the settings that hold from now on. */
async function change(chat: LineChat, settings: { model?: string; mode?: Mode; cwd?: string }) {
  const { status, result } = await chat.change(settings);
  if (status !== "done") return undefined;
  const { provider, model, mode, cwd } = result as Record<"provider" | "model" | "mode" | "cwd", string>;
  return `· From now on: ${provider}/${model} · mode ${mode} · ${visible(cwd)}`;
}

/** A review is a turn, whose answer is shown as any other, unless there is nothing to review. */
async function review(chat: LineChat, hint: string): Promise<string | undefined> {
  const before = chat.turns;
  const { status, result } = await chat.submit({ op: "review", ...(hint !== "" && { hint }) });
  const { text } = (result ?? {}) as { text?: string };
  return status === "done" && chat.turns === before && text !== undefined ? visible(text) : undefined;
}

async function undo(chat: LineChat): Promise<string | undefined> {
  const { status, result } = await chat.submit({ op: "undo" });
  if (status !== "done") return undefined;
  const { dropped } = result as { dropped: number };
  return dropped === 0 ? "There is no turn to take back" : "· Took back the last turn and its changes to files";
}

async function clear(chat: LineChat): Promise<string | undefined> {
  const { status } = await chat.submit({ op: "clear" });
  return status === "done" ? "· A new session, with the same settings" : undefined;
}

async function resume(chat: LineChat, id: string): Promise<undefined> {
  if (id === "") throw new KodaError("usage", "Expected the id of a session: /sessions lists them");
  return await goOn(chat, "resume", id);
}

async function goOn(chat: LineChat, how: "resume" | "fork", session: string): Promise<undefined> {
  await chat.services.goOn(how, session, chat.changes);
  await chat.submit({ op: "shutdown" });
}

function cost(chat: LineChat): string {
  const usage = chat.latest("usage");
  if (usage === undefined) return "Nothing was sent to the model yet";
  const { session, context, cost_usd: usd } = usage;
  const figures = [
    session.input !== null && `${withCommas(session.input)} tokens in`,
    session.output !== null && `${withCommas(session.output)} out`,
    usd !== undefined && dollars(usd),
    context.used !== null && `${withCommas(context.used)} of ${withCommas(context.window)} in the context window`,
  ];
  return figures.filter(Boolean).join(" · ");
}

async function approvals({ services }: LineChat, rest: string): Promise<string> {
  const [word, ...words] = rest.split(/\s+/);
  if (word === "remove" && words.length > 0) {
    await services.removeApproval(words.join(" "));
    return `· "${words.join(" ")}" needs approval again, from the next chat on`;
  }
  if (rest !== "") throw new KodaError("usage", `Expected /approvals or /approvals remove PREFIX, not "${rest}"`);
  const prefixes = await services.approvals();
  if (prefixes.length === 0) return "Every command that writes needs approval in mode safe";
  return ["Commands that begin so need no approval:", ...prefixes.map((prefix) => `  ${visible(prefix)}`)].join("\n");
}

async function exportSession(chat: LineChat, file: string): Promise<string> {
  const { session } = chat.latest("session.start") ?? {};
  if (session === undefined) throw new KodaError("usage", "There is no session to export yet");
  return `· Wrote ${visible(await chat.services.exportTo(session, file === "" ? undefined : file))}`;
}
