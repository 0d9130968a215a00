/**
 * The process: arguments in, exit code out. It answers `--version` before it knows any
 * command, since that is how scripts ask whether koda is there; ssh waits for its tunnel in
 * the same way. It alone calls process.exit.
 */
import { version } from "./version.ts";

process.exit(await main(process.argv.slice(2)).catch(complain));

async function main(argv: readonly string[]): Promise<number> {
  if (argv.length === 1 && ["--version", "-V", "-v"].includes(argv[0] ?? "")) return await sayVersion();
  if (argv[0] === "ssh-tunnel") return await (await import("./sshtunnel.ts")).sshTunnel(argv.slice(1));
  if (argv[0] === "__complete") return await (await import("./completions/offer.ts")).offer(argv[1]);
  const { runCommandLine } = await import("./commandline.ts");
  return await runCommandLine(argv, (code) => process.exit(code));
}

/** Written without lib/sink: loading node:fs for this one line would take longer than all the rest. */
async function sayVersion(): Promise<number> {
  const line = `koda ${version}\n`;
  try {
    await Bun.write(Bun.stdout, line);
  } catch {
    // The long way fails as well, and knows what to say and which exit code that is.
    const { print } = await import("./print.ts");
    await print(line);
  }
  return 0;
}

async function complain(error: unknown): Promise<number> {
  const { report } = await import("./print.ts");
  return await report(error);
}
