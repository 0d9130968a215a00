import { snapshotDirectory } from "../config/paths.ts";
import { Changes, type OwnOutput } from "../engine/changes.ts";
import type { Turn } from "../engine/turn.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { inMemory } from "../session/database.ts";
import type { Session } from "../session/session.ts";
import type { RunPatch } from "./runpatch.ts";
import type { Settings } from "./settings.ts";
import { ownPlace } from "./workspace/ownplace.ts";

type Options = {
  session: Session;
  policy: Policy;
  settings: Pick<Settings, "env" | "dataDirectory" | "database">;
  own: OwnOutput;
  patch: RunPatch | undefined;
  earlier?: { paths: ReadonlySet<string> } | undefined;
  /** Those of the conversation that has started this one. */
  parent: ProjectChanges | undefined;
};

type TurnChanges = Turn["changes"];

/** The files that the turns of a conversation change. Those of an agent belong to the turn that its parent is in. */
export class ProjectChanges {
  readonly #options: Options;
  readonly #paths: Set<string>;
  #isKnown = true;
  #current: Changes | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#paths = new Set(options.earlier?.paths);
  }

  /** Those of a turn that begins. */
  begin(): TurnChanges {
    const { policy, settings, own, parent } = this.#options;
    if (parent !== undefined)
      return { watch: async (signal) => parent.#current?.watch(signal), collect: async () => [], count: undefined };
    const temporary = () => ownPlace(policy, settings.dataDirectory, { lasting: false });
    const keep = this.#placeToKeep();
    this.#current = new Changes({ policy, searchPath: settings.env.PATH, own, temporary, keep });
    return this.#current;
  }

  /** The turn is over. */
  async end(): Promise<void> {
    const changes = this.#current;
    this.#current = undefined;
    if (changes === undefined) return;
    for (const path of changes.paths) this.#paths.add(path);
    this.#isKnown &&= changes.isKnown;
    if (this.#options.patch?.keep(changes) !== true) await changes[Symbol.asyncDispose]();
  }

  get paths(): ReadonlySet<string> {
    return this.#paths;
  }

  /** False when the project is certainly as it was; undefined when that cannot be told. */
  get hasAny(): boolean | undefined {
    return this.#paths.size > 0 || (this.#isKnown ? false : undefined);
  }

  #placeToKeep() {
    const { settings, session } = this.#options;
    const { database } = settings;
    if (database === inMemory) return undefined;
    // The turn's start is the next item.
    const seq = session.info.length + 1;
    return { snapshots: snapshotDirectory(database), session: session.id, by: "turn" as const, seq };
  }
}
