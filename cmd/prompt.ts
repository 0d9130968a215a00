import { readFileSync, statSync } from "node:fs";
import { decodeUtf8 } from "../lib/config/utf8.ts";
import { KodaError, unlessRefused } from "../lib/errors.ts";
import { isDemo } from "../lib/model/demoname.ts";
import type { ImagePart, TextPart } from "../lib/model/message.ts";
import type { InputSource } from "./bytes.ts";
import { decodeInput } from "./decode.ts";
import { openNote } from "./note.ts";
import type { ExecOptions } from "./options.ts";
import { type LateStdin, readStdin, type StdinRole } from "./stdin.ts";

type PromptOptions = Pick<ExecOptions, "image"> &
  Partial<Pick<ExecOptions, "prompt" | "file" | "stdin" | "model" | "quiet" | "resume" | "last">>;

type ReadOptions = {
  signal: AbortSignal;
  /** Called before a read that may have to wait for another process. */
  onWait?: () => void;
};

/** The source of the prompt itself. */
type PromptSource =
  { kind: "argument"; text: string } | { kind: "file"; path: string } | { kind: "stdin" } | { kind: "none" };

/** The scripted model needs no prompt, since it always does the same. */
const demoPrompt = "Write a small project with a failing test, and fix it.";

/**
 * The parts of a prompt, none when a session is continued without one, and stdin when it was silent. `words` is the
 * text without what was appended: the user's own words.
 */
type ReadPrompt = { parts: (TextPart | ImagePart)[]; words?: string | undefined; late?: LateStdin };

/** The user's request: the prompt with stdin appended, and images. The signal ends the wait for a pipe. */
export async function readPrompt(
  options: PromptOptions,
  { signal, onWait = () => {} }: ReadOptions,
): Promise<ReadPrompt> {
  const source = sourceOf(options);
  const mode = options.stdin ?? "auto";
  if (source.kind === "stdin" && mode === "ignore")
    throw new KodaError("usage", "The prompt cannot come from stdin (-) with --stdin ignore");

  // Images first: reading the prompt may wait for a pipe.
  const images = await imagesOf(options.image, signal);
  const prompt = await promptText(source, { signal, onWait });
  const continues = options.resume !== undefined || options.last === true;
  const { bytes, late } = await readStdin({
    mode,
    role: stdinRole(source, continues),
    note: openNote(options),
    warn: openNote(),
    onWait,
    signal,
  });
  const input = bytes === undefined ? undefined : decodeInput(bytes, "stdin");
  if (mode === "require" && !input) throw new KodaError("usage", "stdin is empty, but --stdin require needs input");
  if (source.kind === "none" && continues && !input && images.length === 0) return { parts: [] };
  const text = joined(prompt, input);
  return { parts: [{ type: "text", text }, ...images], words: prompt ?? text, ...(late && { late }) };
}

function sourceOf({ prompt, file, model }: PromptOptions): PromptSource {
  if (prompt !== undefined && file !== undefined)
    throw new KodaError("usage", `Two prompts were given, "${shortened(prompt)}" and -f "${file}": give one of them`);
  if (prompt === "-" || isStdin(file)) return { kind: "stdin" };
  if (file !== undefined) return { kind: "file", path: file };
  if (prompt !== undefined) return { kind: "argument", text: prompt };
  return isDemo(model ?? process.env["KODA_MODEL"]) ? { kind: "argument", text: demoPrompt } : { kind: "none" };
}

/** Opened by one of these names, stdin would be read twice. */
function isStdin(file: string | undefined): boolean {
  return file !== undefined && ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].includes(file);
}

function stdinRole(source: PromptSource, continues: boolean): StdinRole {
  switch (source.kind) {
    case "stdin":
      return "asked";
    case "none":
      return continues ? "optional" : "prompt";
    case "argument":
    case "file":
      return "addition";
    default:
      return source satisfies never;
  }
}

/** The text of the argument or file; undefined when the prompt comes from stdin. */
async function promptText(
  source: PromptSource,
  { signal, onWait }: Required<ReadOptions>,
): Promise<string | undefined> {
  switch (source.kind) {
    case "stdin":
    case "none":
      return undefined;
    case "argument":
      checkArgument(source.text);
      return source.text;
    case "file": {
      const input: InputSource = { name: `prompt file "${source.path}"`, limit: 10 * 1024 * 1024, limitName: "10 MiB" };
      const { readNamedFile } = await import("./promptfile.ts");
      if (!isRegularFile(source.path)) onWait();
      const text = decodeInput(await readNamedFile(source.path, input, signal), input.name);
      if (isBlank(text)) throw new KodaError("usage", `The prompt is empty: there is no text in "${source.path}"`);
      return text;
    }
    default:
      return source satisfies never;
  }
}

/** Another kind of file may be a pipe to wait for; reading a missing file reports the error. */
function isRegularFile(path: string): boolean {
  return unlessRefused(() => statSync(path))?.isFile() ?? true;
}

async function imagesOf(paths: readonly string[], signal: AbortSignal): Promise<ImagePart[]> {
  if (paths.length === 0) return [];
  const { readImages } = await import("./images.ts");
  return await readImages(paths, signal);
}

/** The runtime replaces invalid UTF-8 in arguments by U+FFFD; only then the raw arguments are checked. */
function checkArgument(text: string): void {
  if (isBlank(text)) throw new KodaError("usage", `The prompt is empty: say what to do, as in ${example}`);
  if (text.includes("\uFFFD") && !areArgumentsText())
    throw new KodaError("usage", "Cannot read the prompt: the argument is not UTF-8 text");
}

/** True without /proc, where the raw arguments are not available. */
function areArgumentsText(): boolean {
  const line = unlessRefused(() => readFileSync("/proc/self/cmdline"));
  return line === undefined || decodeUtf8(line) !== undefined;
}

const example = 'koda exec "fix the failing test"';

function joined(prompt: string | undefined, input: string | undefined): string {
  if (prompt !== undefined) return input ? `${prompt}\n\n${stdinBlock(input)}` : prompt;
  if (input === undefined)
    throw new KodaError(
      "usage",
      `No prompt was given: pass it as an argument (${example}), in a file (-f FILE) or on stdin (koda exec < FILE)`,
    );
  if (isBlank(input)) throw new KodaError("usage", "The prompt is empty: there is no text on stdin");
  return input;
}

export function stdinBlock(input: string): string {
  return `<stdin>\n${input}${input.endsWith("\n") ? "" : "\n"}</stdin>`;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function shortened(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
}
