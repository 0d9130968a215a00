import { loadInstructions, noInstructions } from "../agents/instructions.ts";
import type { ModelInfo } from "../model/model.ts";
import { inMemory } from "../session/database.ts";
import type { ConnectionFacts } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import { openStore } from "../session/store.ts";
import { builtInTools } from "../tools/registry.ts";
import { buildGate, offeredTools } from "../trust/gate.ts";
import { wantedOf } from "./allowance.ts";
import { type OwnOutput, trackChanges } from "./changes.ts";
import { connectionFor } from "./connection.ts";
import { environmentItem } from "./conversation.ts";
import type { Engine, Notice } from "./engine.ts";
import type { Event } from "./event.ts";
import { watchForKey } from "./exposure.ts";
import { type Limits, openLedger } from "./ledger.ts";
import { directoryChange, keepToRecord, modelChange } from "./resume.ts";
import type { Opening } from "./run.ts";
import { openSession, recordedIn } from "./sessions.ts";
import type { Settings } from "./settings.ts";
import { startOf } from "./start.ts";
import { openSurroundings, type Surroundings } from "./surroundings.ts";
import system from "./system.md" with { type: "text" };

/** A run that is ready to begin, with everything it holds open. */
export type OpenRun = {
  engine: Engine;
  opening: Opening;
  /** Stops what still runs and lets go of everything; returns what is still to be said before the end. */
  close(): Promise<readonly Notice[]>;
  /** The part of closing that must happen even when there is no time: nothing may outlive the run. */
  killNow(): void;
};

export type Moment = { startedAt: number; heard: () => void; own: OwnOutput };

/** From settings to a run that can begin. A start that fails leaves nothing behind, no session either. */
export async function openRun(settings: Settings, moment: Moment, signal: AbortSignal): Promise<OpenRun> {
  await using held = new AsyncDisposableStack();
  const notices: Event[] = [];
  const tell = (event: Event) => void notices.push(event);
  const instructions = settings.bare ? noInstructions : loadInstructions({ cwd: settings.root });

  const store = openStore(settings.database);
  held.defer(() => store.leave());
  const recorded = await recordedIn(store, settings.session, settings.root);
  const connected = await connectionFor(settings, { recorded, tell, signal });
  held.defer(connected.close);
  const { model, info, facts: connection, keyVariables } = connected;
  const session = held.use(await openSession(store, { settings, recorded, info }, signal));

  const wanted = wantedOf(settings.loaded.config);
  const { allowance, notices: kept } = keepToRecord(session.environment, wanted, settings.explicit);
  const changed = modelChange(session.environment, { model: info.name, provider: info.provider });
  const moved = directoryChange(session.environment, settings.root);
  for (const notice of [...moved, ...changed, ...kept]) tell(notice);
  const surroundings = await openSurroundings({ settings, allowance, keyVariables, tell }, held);
  const { policy, backend, shell } = surroundings;
  for (const message of instructions.notices) tell({ type: "notice", level: "warn", code: "instructions", message });
  const environment = environmentItem(session, { settings, allowance, surroundings, info, connection, instructions });

  const engine: Engine = {
    model,
    info,
    system,
    tools: offeredTools(builtInTools, settings.tools, backend.filesystem === "no commands"),
    gate: buildGate({ mode: allowance.mode, ...settings.tools }),
    ledger: openLedger(limitsOf(settings)),
    session,
    environment,
    context: contextOf(session, surroundings, info),
    changes: held.use(trackChanges(policy, { settings, own: moment.own })),
    repositories: surroundings.repositories,
    notices,
    reached: surroundings.reached,
    keyWatch: watchForKey(connected.key),
    failOn: settings.failOn,
    heard: moment.heard,
    ...(settings.answerSchema !== undefined && { answerSchema: settings.answerSchema }),
  };
  const start = startOf(engine, {
    settings,
    surroundings,
    mode: allowance.mode,
    connection,
    instructions: instructions.files,
  });
  const resources = held.move();
  return {
    engine,
    opening: { start, startedAt: moment.startedAt, resume: resumeLine(session.id, settings, connection) },
    async close() {
      await resources.disposeAsync();
      return surroundings.lastNotices;
    },
    killNow: () => shell.killNow(),
  };
}

function contextOf(session: Session, surroundings: Surroundings, info: ModelInfo): Engine["context"] {
  const { policy, shell, tasks, egress, reached } = surroundings;
  const { files, outputs, recall, todo } = session;
  const { contextWindow } = info;
  return {
    policy,
    shell,
    tasks,
    egress: egress.ofTools,
    refusals: reached.refusals,
    files,
    outputs,
    recall,
    todo,
    contextWindow,
  };
}

/** The command line that continues the session; null when nothing is kept or no provider was asked. */
function resumeLine(id: string, settings: Settings, connection: ConnectionFacts | undefined): string | null {
  if (settings.database === inMemory || connection === undefined) return null;
  return ["koda exec --resume", id, ...settings.resumeFlags].join(" ");
}

function limitsOf({ loaded: { config } }: Settings): Limits {
  const { maxTurns, maxTokens } = config.limits;
  return maxTokens === undefined ? { maxTurns } : { maxTurns, maxTokens };
}
