/** Fetches packages of npm's into a directory. Those that cannot be had are said, and so is that tests are skipped. */
export function fetchPackages(directory: string, packages: readonly string[]): void {
  const options = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { exitCode } = Bun.spawnSync(["npm", "install", ...options, "--prefix", directory, ...packages], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    timeout: 120_000,
  });
  if (exitCode !== 0) console.error(`skipped: tests that need ${packages.join(", ")}: npm could not install them`);
}
