import { dispatchCommand, type Handlers } from "./dispatch.ts";
import { print, report } from "./print.ts";
import { type Stopper, stopOnSignals } from "./signals.ts";

/** Runs a command line and returns its exit code. A command's code is loaded when it is called. */
export async function runCommandLine(argv: readonly string[], leave: (code: number) => never): Promise<number> {
  let stopper: Stopper | undefined;
  const signals = () => (stopper ??= stopOnSignals(leave));
  try {
    return await dispatchCommand(argv, handlers(signals), { columns: () => process.stdout.columns ?? 80, print });
  } catch (error) {
    if (!["exec", "chat", "review"].includes(argv[0] ?? "")) return await report(error);
    const { endUnread } = await import("./deliver.ts");
    return await endUnread(error, argv, signals().controller);
  }
}

/** Commands with a stopper handle signals from before their code is loaded; a signal ends the others. */
function handlers(signals: () => Stopper): Handlers {
  return {
    exec: async (options, stopper = signals()) => (await import("./exec.ts")).exec(options, stopper),
    chat: async (options, stopper = signals()) => (await import("./chat.ts")).chat(options, stopper),
    acp: async (options, stopper = signals()) => (await import("./acp.ts")).acp(options, stopper),
    review: async (options, stopper = signals()) => (await import("./review.ts")).review(options, stopper),
    "batch run": async (options, stopper = signals()) => (await import("./batchrun.ts")).runBatch(options, stopper),
    "batch submit": async (options, stopper = signals()) =>
      (await import("./batchsubmit.ts")).submitTasks(options, stopper),
    "batch status": async (options) => (await import("./batch.ts")).batchStatus(options),
    "batch watch": async (options, stopper = signals()) =>
      (await import("./batchwatch.ts")).watchBatch(options, stopper),
    "batch cancel": async (options) => (await import("./batch.ts")).cancelTasks(options),
    "batch retry": async (options) => (await import("./batch.ts")).retryBatch(options),
    "batch results": async (options) => (await import("./batchresults.ts")).batchResults(options),
    "batch merge": async (options) => (await import("./batchresults.ts")).mergeResults(options),
    worker: async (options, stopper = signals()) => (await import("./worker.ts")).work(options, stopper),
    "session list": async (options) => (await import("./session.ts")).listSessions(options),
    "session show": async (options) => (await import("./session.ts")).showSession(options),
    "session export": async (options) => (await import("./session.ts")).exportDocument(options),
    "session search": async (options) => (await import("./session.ts")).searchSessions(options),
    "session rollback": async (options) => (await import("./rollback.ts")).rollback(options),
    "session fork": async (options) => (await import("./rollback.ts")).forkSession(options),
    "session rm": async (options) => (await import("./session.ts")).removeSession(options),
    "session prune": async (options) => (await import("./session.ts")).pruneSessions(options),
    "mcp add": async (options) => (await import("./mcp.ts")).addServer(options),
    "mcp list": async (options) => (await import("./mcp.ts")).listServers(options),
    "mcp remove": async (options) => (await import("./mcp.ts")).removeServer(options),
    "mcp check": async (options, stopper = signals()) => (await import("./mcpcheck.ts")).checkServers(options, stopper),
    sandbox: async (options, stopper = signals()) => (await import("./sandbox.ts")).sandbox(options, stopper),
    proxy: async (options, stopper = signals()) => (await import("./proxy.ts")).proxy(options, stopper),
    models: async (options, stopper = options.provider === undefined ? undefined : signals()) =>
      (await import("./models.ts")).models(options, stopper?.controller.signal),
    doctor: async (options, stopper = signals()) => (await import("./doctor.ts")).doctor(options, stopper),
    upgrade: async (options) => (await import("./upgrade.ts")).upgrade(options),
    completions: async (options) => (await import("./completions.ts")).completions(options),
  };
}
