import { join } from "node:path";
import { decodeUtf8, wholeCharacters } from "../config/utf8.ts";
import type { SkillText } from "../session/item.ts";
import { type DefinitionFile, type DefinitionRequest, findDefinitions, readDefinition } from "./places.ts";
import { parseSkill, type SkillFile } from "./skillfile.ts";

/** A skill as it is offered to the model; its instructions are read when it is used. */
export type Skill = Pick<SkillFile, "description" | "allowed"> & {
  readonly name: string;
  readonly file: DefinitionFile;
};

/** The skills of a run by name, and why others are not among them. */
export type Skills = { readonly byName: ReadonlyMap<string, Skill>; readonly notices: readonly string[] };

export const noSkills: Skills = { byName: new Map(), notices: [] };

export const skillFile = "SKILL.md";

/** Its fields stand at the start of a file, so only that is read. */
const largestFields = 16 * 1024;
const mostSkills = 200;

/** Of skills with the same name the first counts: the project's before the user's. */
export function findSkills(request: DefinitionRequest): Skills {
  const { files, notices: unread } = findDefinitions("skills", (entry) => join(entry, skillFile), request);
  const byName = new Map<string, Skill>();
  const notices = [...unread];
  let left = 0;
  for (const file of files) {
    const skill = readSkill(file, largestFields);
    if ("problem" in skill) notices.push(skill.problem);
    else if (byName.has(file.entry)) continue;
    else if (byName.size === mostSkills) left++;
    else byName.set(file.entry, { name: file.entry, ...offerOf(skill), file });
  }
  if (left > 0) notices.push(`The model is offered ${mostSkills} skills, and not the ${left} after them`);
  return { byName, notices };
}

function offerOf({ description, allowed }: SkillFile): Pick<SkillFile, "description" | "allowed"> {
  return { description, ...(allowed !== undefined && { allowed }) };
}

function readSkill(file: DefinitionFile, limit: number): (SkillFile & { isCut: boolean }) | { problem: string } {
  const notLoaded = (problem: string) => ({ problem: `The skill "${file.shown}" is not loaded: ${problem}` });
  const read = readDefinition(file, limit);
  if ("problem" in read) return notLoaded(read.problem);
  const skill = parseSkill(read.text, file.entry);
  return "problem" in skill ? notLoaded(skill.problem) : { ...skill, isCut: read.isCut };
}

const largestText = 64 * 1024;
/** They stay in the conversation, so they may take only this many bytes for each token of the window: a fifth of it. */
const bytesPerToken = 0.7;

/** Its instructions, with its directory, since they refer to files there. */
export function loadSkill({ name, file }: Skill, contextWindow: number): SkillText | { problem: string } {
  const skill = readSkill(file, largestText);
  if ("problem" in skill) return skill;
  const { allowed } = skill;
  const bytes = Buffer.from(skill.body.trim());
  const most = Math.min(largestText, Math.floor(contextWindow * bytesPerToken));
  const body = decodeUtf8(wholeCharacters(bytes.subarray(0, most))) ?? "";
  const directory = file.directory.replace(/\p{Cc}/gu, "?");
  const rest = `[Cut after ${most} bytes: Read "${join(directory, skillFile)}" to see the rest.]`;
  const limit = `Until another skill is loaded, only these tools may be used: ${allowed?.join(", ") || "none"}.`;
  const isCut = skill.isCut || bytes.length > most;
  const lines = [body, ...(isCut ? [rest] : []), ...(allowed === undefined ? [] : [limit])];
  const text = [`<skill name="${name}" directory="${directory}">`, ...lines, "</skill>"].join("\n");
  return { name, text, ...(allowed !== undefined && { allowed }) };
}

/** The skills that a prompt names (`$deploy`), in the order of their names' first use. */
export function skillsNamed(text: string, { byName }: Skills): readonly Skill[] {
  const names = text.matchAll(/(?<![\w$\\])\$([a-z0-9]+(?:-[a-z0-9]+)*)(?![\w-])/g);
  const skills = [...names].flatMap(([, name = ""]) => byName.get(name) ?? []);
  return [...new Set(skills)];
}
