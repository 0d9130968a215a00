import { readFileSync, statSync } from "node:fs";
import { decodeUtf8 } from "../lib/config/utf8.ts";
import { KodaError, unlessRefused } from "../lib/errors.ts";
import { isDemo } from "../lib/model/demoname.ts";
import type { ImagePart, TextPart } from "../lib/model/message.ts";
import type { Intake } from "./bytes.ts";
import { decodeInput } from "./decode.ts";
import { openNote } from "./note.ts";
import { readStdin, type StdinMode, type StdinRole } from "./stdin.ts";

export type PromptOptions = {
  /** The argument; `-` is standard input. */
  readonly prompt?: string;
  /** `-f`; `-` is standard input here too. */
  readonly file?: string;
  readonly image: readonly string[];
  readonly stdin?: StdinMode;
  readonly model?: string;
  readonly quiet?: boolean;
  /** A session to go on with, for which no prompt is needed. */
  readonly resume?: string;
  readonly last?: boolean;
};

type Circumstances = {
  signal: AbortSignal;
  /** Called before a read that may take as long as another process wants. */
  onWait?: () => void;
};

/** Where the prompt's own words come from. */
type Source =
  { kind: "argument"; text: string } | { kind: "file"; path: string } | { kind: "stdin" } | { kind: "none" };

/** The scripted model does the same whatever it is asked, so it may be asked nothing. */
const demoPrompt = "Write a small project with a failing test, and fix it.";

/**
 * The user's request: the prompt, standard input added to it, and images; empty when a resumed session is to go on
 * without one. The signal ends the wait for a pipe.
 */
export async function readPrompt(
  options: PromptOptions,
  { signal, onWait = () => {} }: Circumstances,
): Promise<(TextPart | ImagePart)[]> {
  const source = sourceOf(options);
  const mode = options.stdin ?? "auto";
  if (source.kind === "stdin" && mode === "ignore")
    throw new KodaError("usage", "The prompt cannot be standard input (-) when that is ignored (--stdin ignore)");

  // Images first: they never wait, and a prompt from a pipe may.
  const images = await imagesOf(options.image, signal);
  const words = await wordsOf(source, { signal, onWait });
  const goesOn = options.resume !== undefined || options.last === true;
  const bytes = await readStdin({
    mode,
    role: roleBeside(source, goesOn),
    note: openNote(options),
    warn: openNote(),
    onWait,
    signal,
  });
  const input = bytes === undefined ? undefined : decodeInput(bytes, "standard input");
  if (mode === "require" && !input)
    throw new KodaError("usage", "Standard input is empty, and --stdin require asks for something there");
  if (words === undefined && !input && goesOn && images.length === 0 && source.kind === "none") return [];
  return [{ type: "text", text: joined(words, input) }, ...images];
}

function sourceOf({ prompt, file, model }: PromptOptions): Source {
  if (prompt !== undefined && file !== undefined)
    throw new KodaError("usage", `Two prompts were given, "${shortened(prompt)}" and -f "${file}": give one of them`);
  if (prompt === "-" || isStdin(file)) return { kind: "stdin" };
  if (file !== undefined) return { kind: "file", path: file };
  if (prompt !== undefined) return { kind: "argument", text: prompt };
  return isDemo(model ?? process.env["KODA_MODEL"]) ? { kind: "argument", text: demoPrompt } : { kind: "none" };
}

/** Opened by these names it would be read as a file, and then once more as standard input. */
function isStdin(file: string | undefined): boolean {
  return file !== undefined && ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].includes(file);
}

function roleBeside(source: Source, goesOn: boolean): StdinRole {
  switch (source.kind) {
    case "stdin":
      return "asked";
    case "none":
      return goesOn ? "optional" : "prompt";
    case "argument":
    case "file":
      return "addition";
    default:
      return source satisfies never;
  }
}

/** The prompt's own words; undefined when they come on standard input. */
async function wordsOf(source: Source, { signal, onWait }: Required<Circumstances>): Promise<string | undefined> {
  switch (source.kind) {
    case "stdin":
    case "none":
      return undefined;
    case "argument":
      checkArgument(source.text);
      return source.text;
    case "file": {
      const intake: Intake = { name: `prompt file "${source.path}"`, limit: 10 * 1024 * 1024, limitName: "10 MiB" };
      const { readNamedFile } = await import("./promptfile.ts");
      if (!isRegularFile(source.path)) onWait();
      const text = decodeInput(await readNamedFile(source.path, intake, signal), intake.name);
      if (isBlank(text)) throw new KodaError("usage", `The prompt is empty: there is no text in "${source.path}"`);
      return text;
    }
    default:
      return source satisfies never;
  }
}

/** Anything else may be a pipe that has to be waited for; a file that is missing is told by reading it. */
function isRegularFile(path: string): boolean {
  return unlessRefused(() => statSync(path))?.isFile() ?? true;
}

async function imagesOf(paths: readonly string[], signal: AbortSignal): Promise<ImagePart[]> {
  if (paths.length === 0) return [];
  const { readImages } = await import("./images.ts");
  return await readImages(paths, signal);
}

/** The runtime puts U+FFFD where an argument is not UTF-8; only then is it worth asking what was really there. */
function checkArgument(text: string): void {
  if (isBlank(text)) throw new KodaError("usage", `The prompt is empty: say what to do, as in ${example}`);
  if (text.includes("\uFFFD") && !areArgumentsText())
    throw new KodaError("usage", "Cannot read the prompt: the argument is not UTF-8 text");
}

/** Without /proc there is only the runtime's word for it. */
function areArgumentsText(): boolean {
  const line = unlessRefused(() => readFileSync("/proc/self/cmdline"));
  return line === undefined || decodeUtf8(line) !== undefined;
}

const example = 'koda exec "fix the failing test"';

function joined(words: string | undefined, input: string | undefined): string {
  if (words !== undefined) return input ? `${words}\n\n${stdinBlock(input)}` : words;
  if (input === undefined)
    throw new KodaError(
      "usage",
      `No prompt was given: pass it as an argument (${example}), in a file (-f FILE), or on standard input (koda exec < FILE)`,
    );
  if (isBlank(input)) throw new KodaError("usage", "The prompt is empty: there is no text on standard input");
  return input;
}

function stdinBlock(input: string): string {
  return `<stdin>\n${input}${input.endsWith("\n") ? "" : "\n"}</stdin>`;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function shortened(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
}
