import { skillsOn } from "../conversation/definitions.ts";
import { KodaError } from "../errors.ts";
import type { ChatConversation } from "./chatconversation.ts";
import { describeSkills } from "./listing.ts";

/** The skills as they are on the disk now: in the directory of the chat, or in others in which it could go on. */
export async function readSkills(opened: ChatConversation, cwds: readonly string[] | undefined): Promise<unknown> {
  if (cwds === undefined) return await skillsIn(opened, undefined);
  return { directories: await Promise.all(cwds.map(async (cwd) => ({ cwd, ...(await skillsOrFault(opened, cwd)) }))) };
}

async function skillsIn(opened: ChatConversation, cwd: string | undefined) {
  const settings = await opened.settingsIn(cwd);
  const { skipped, ...skills } = skillsOn(settings, opened.conversation.stance.allowance);
  return { ...describeSkills(skills), skipped };
}

async function skillsOrFault(opened: ChatConversation, cwd: string) {
  try {
    return await skillsIn(opened, cwd);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
    return { skills: [], errors: [error.message], skipped: [] };
  }
}
