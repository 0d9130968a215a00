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
    about: "Run tasks of koda batch submit on this machine",
    details:
      "Takes tasks from every batch in the store, if it has their labels, and runs each as a koda exec in its own work " +
      "tree. Any number of workers can share a store; when one dies, another continues its tasks. On SIGTERM it puts its " +
      "tasks back in the queue and exits. It does the same, and says why, when this machine is at fault: no credentials, no " +
      "git, a full disk. See docs/fleet.md.",
    positionals: {},
    flags: {
      ...workFlags,
      ...grouped("General", {
        labels: { value: value.list(label), many: true, about: "Also take tasks that need this label" },
        once: { about: "Exit after one task, or when there is none" },
        "drain-after": { value: value.wait, about: "Exit after this long with nothing to do" },
      }),
      ...storeFlag,
      ...grouped("Output", { json: { about: "Print events, one JSON object a line" } }),
      ...helpFlag,
    },
    examples: [
      { line: "koda worker -j 4", about: "Four tasks at once, until it is stopped" },
      { line: "koda worker --store postgres://db/koda --drain-after 10m", about: "In a cluster, while there is work" },
      {
        line: `koda worker --publish-command 'gh pr create -R "$KODA_REPO" -H "$KODA_BRANCH" --fill'`,
        about: "Open a pull request for each branch",
      },
    ],
  },
} as const satisfies Readonly<Record<string, CommandSpec>>;
