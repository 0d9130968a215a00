import { join } from "node:path";
import type { EnvironmentFacts } from "../session/item.ts";
import { shortened } from "../session/graphemes.ts";
import { type Skill, skillFile, type Skills } from "./skills.ts";

/** The list of skills for the model: names, descriptions and paths may take this many bytes together. */
const largestList = 16 * 1024;
const shortestDescription = 40;

/** A line for each skill. Long descriptions are cut when there are many. */
export function skillLines(skills: readonly Skill[]): string[] {
  const whole = skills.map((skill) => lineOf(skill));
  const size = whole.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  if (size <= largestList) return whole;
  return skills.map((skill) => {
    const room = largestList / skills.length - Buffer.byteLength(lineOf({ ...skill, description: "" }));
    // In the worst case a character takes three bytes.
    return lineOf({ ...skill, description: shortened(skill.description, Math.max(shortestDescription, room / 3)) });
  });
}

function lineOf({ name, description, file }: Skill): string {
  return `- ${name}: ${description} (${join(file.directory, skillFile).replace(/\p{Cc}/gu, "?")})`;
}

/** The part of the skills that a session records, to find out later which of them have changed. */
export function skillFacts({ byName }: Skills): NonNullable<EnvironmentFacts["skills"]> {
  const hash = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex");
  return [...byName.values()].map((skill) => ({ name: skill.name, hash: hash(lineOf(skill)) }));
}
