import { existsSync } from "node:fs";
import { join } from "node:path";

type Homes = {
  /** Empty where there is none. */
  readonly home: string;
  /** The one that the system knows for the account; `HOME` may say another. */
  readonly accountHome: string | undefined;
  readonly otherHomes?: readonly string[];
};

/** Files and directories in which programs keep keys, tokens and passwords. Relative to a home. */
const secrets = [
  ".ssh",
  ".aws",
  ".gnupg",
  ".kube",
  ".docker",
  ".azure",
  ".config/gh",
  ".config/gcloud",
  ".config/koda/config.json",
  ".local/share/koda",
  ".config/pip/pip.conf",
  ".pip/pip.conf",
  ".cargo/config",
  ".cargo/config.toml",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".netrc",
  ".npmrc",
  ".pypirc",
  ".git-credentials",
  ".vault-token",
] as const;

/** The sockets of docker, D-Bus and agents: a process that is reached through one acts outside of the sandbox. */
const sockets = "/run";

/** Exceptions in `/run` that programs need: the programs of NixOS, and systemd's settings for name resolution. */
export const shownByDefault: readonly string[] = [
  "/run/current-system",
  "/run/opengl-driver",
  "/run/wrappers",
  "/run/systemd/resolve/resolv.conf",
  "/run/systemd/resolve/stub-resolv.conf",
];

/** Which programs git starts is said here too, and the user's next `git status` would start them. */
const gitConfiguration = [".gitconfig", ".config/git"] as const;

export function holdsSecrets(home: string): boolean {
  return secrets.some((name) => existsSync(join(home, name)));
}

export function hiddenByDefault(homes: Homes): readonly string[] {
  return [...inHomes(homes, secrets), sockets];
}

/** Matters only where a home is itself writable. */
export function readonlyByDefault(homes: Homes): readonly string[] {
  return inHomes(homes, gitConfiguration);
}

function inHomes({ home, accountHome = home, otherHomes = [] }: Homes, names: readonly string[]): string[] {
  const paths = [...new Set([home, accountHome, ...otherHomes])].filter((path) => path.startsWith("/"));
  return paths.flatMap((path) => names.map((name) => join(path, name)));
}
