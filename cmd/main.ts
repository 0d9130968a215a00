/**
 * The process: arguments in, exit code out. It answers `--version` before it knows any command, since that is how
 * scripts ask whether koda is there; it owns the signal handlers; and it alone calls process.exit.
 */
import { print, report } from "./print.ts";

process.exit(await main(process.argv.slice(2)).catch(report));

async function main(argv: readonly string[]): Promise<number> {
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    const { version } = await import("./version.ts");
    await print(`koda ${version}\n`);
    return 0;
  }
  const { stopOnSignals } = await import("./signals.ts");
  const stopper = stopOnSignals((code) => process.exit(code));
  const { runCommandLine } = await import("./commandline.ts");
  return await runCommandLine(argv, stopper);
}
