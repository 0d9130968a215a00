import type { CommandSpec } from "../commands.ts";
import { grouped, helpFlag, storeFlag, workFlags } from "../flags.ts";
import * as value from "../values.ts";

/** Its label on a task and on a worker. */
const label = {
  placeholder: "LABEL",
  expected: "a label, such as gpu",
  read: (text: string) => (/^\S+$/.test(text) ? text : undefined),
};

export const workerCommands = {
  worker: {
    about: "Carry out tasks of koda batch submit, on this machine",
    details:
      "Takes tasks whose labels are all among its own, each as a koda exec of its own in a work tree of its own. Any " +
      "number of workers may share a store; a task whose worker dies is carried on by another one. On SIGTERM the running " +
      "tasks are given back. When this machine is at fault (no credentials, no git, a full disk), it gives its tasks " +
      "back, says why, and exits. docs/fleet.md.",
    positionals: {},
    flags: {
      ...workFlags,
      ...grouped("General", {
        labels: { value: value.list(label), many: true, about: "Also take tasks that need this label" },
        once: { about: "Exit after one task, or when there is none" },
        "drain-after": { value: value.wait, about: "Exit when there was nothing to do for this long" },
      }),
      ...storeFlag,
      ...grouped("Output", { json: { about: "Print events, one JSON object a line" } }),
      ...helpFlag,
    },
    examples: [
      { line: "koda worker -j 4", about: "Work at four tasks at a time, until it is stopped" },
      { line: "koda worker --store postgres://db/koda --drain-after 10m", about: "In a cluster, while there is work" },
      {
        line: `koda worker --publish-command 'gh pr create -R "$KODA_REPO" -H "$KODA_BRANCH" --fill'`,
        about: "Open a pull request for each branch",
      },
    ],
  },
} as const satisfies Readonly<Record<string, CommandSpec>>;
