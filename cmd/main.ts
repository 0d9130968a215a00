/**
 * The process: arguments in, exit code out. `--version` (which scripts use to check for koda) and ssh's tunnel are
 * answered without loading the other commands. Only this file calls process.exit.
 */
import { version } from "./version.ts";

process.exit(await main(process.argv.slice(2)).catch(reportError));

async function main(argv: readonly string[]): Promise<number> {
  if (["--version", "-V", "-v"].includes(argv[0] ?? "")) {
    if (argv.length === 1) return await printVersion();
    if (argv.length === 2 && argv[1] === "--json") return await (await import("./versionjson.ts")).printIdentity();
  }
  if (argv[0] === "ssh-tunnel") return await (await import("./sshtunnel.ts")).sshTunnel(argv.slice(1));
  if (argv[0] === "__complete") return await (await import("./completions/offer.ts")).printCompletions(argv[1]);
  const { runCommandLine } = await import("./commandline.ts");
  return await runCommandLine(argv, (code) => process.exit(code));
}

/** Without lib/sink: loading node:fs would take longer than everything else. */
async function printVersion(): Promise<number> {
  const line = `koda ${version}\n`;
  try {
    await Bun.write(Bun.stdout, line);
  } catch {
    // This fails too, but with a message and the right exit code.
    const { print } = await import("./print.ts");
    await print(line);
  }
  return 0;
}

async function reportError(error: unknown): Promise<number> {
  const { report } = await import("./print.ts");
  return await report(error);
}
