import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { reasonOf, KodaError } from "../lib/errors.ts";
import type { LineServices } from "../lib/line/commands.ts";
import { rootOf } from "./basesettings.ts";
import { changedOptions, type ChatOptions, forgetPrefix } from "./chatsettings.ts";
import { projectConfig } from "./project.ts";

const mostSessions = 10;

/** The commands of a chat that read or write files, each loaded when it is used. */
export function lineServices(options: ChatOptions, goOn: (next: ChatOptions) => void): LineServices {
  const { cd, trustProject } = options;
  const project = { env: process.env, home: homedir(), root: rootOf(cd), isTrusted: trustProject };
  return {
    async sessions() {
      const { sessionsHere } = await import("./session.ts");
      return (await sessionsHere(project.root, mostSessions)) || "No sessions in this directory";
    },
    async goOn(how, session, changes) {
      const { session: _, resume: __, fork: ___, ...others } = changedOptions(options, changes);
      if (others.ephemeral) throw new KodaError("usage", "A chat with --ephemeral cannot go on with another session");
      const { usersSession } = await import("./session.ts");
      goOn({ ...others, last: false, [how]: await usersSession(session) });
    },
    async tail(session) {
      const { latestMessages } = await import("./session.ts");
      const messages = await latestMessages(session, { count: 6, lines: 10 });
      return messages.map(({ isPrompt, text }) => (isPrompt ? `> ${text}` : text)).join("\n");
    },
    async hooks() {
      const { checkHooks } = await import("./programscheck.ts");
      const checks = await checkHooks(project, await projectConfig(project));
      return checks.map(({ message }) => message).join("\n");
    },
    approvals: async () => (await projectConfig(project)).config.approvals.commands,
    removeApproval: forgetPrefix,
    async exportTo(session, file = `koda-${session.slice(0, 8)}.md`) {
      const { markdownOf } = await import("./session.ts");
      const path = resolve(project.root, file);
      try {
        // Nothing is overwritten.
        writeFileSync(path, await markdownOf(session), { flag: "wx", mode: 0o600 });
      } catch (error) {
        if (error instanceof KodaError) throw error;
        throw new KodaError("usage", `Cannot write "${path}": ${reasonOf(error)}`, { cause: error });
      }
      return path;
    },
  };
}
