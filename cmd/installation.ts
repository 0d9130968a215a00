import { dirname } from "node:path";
import { shellQuoted } from "../lib/quote.ts";

/** A program, and all that tells how it came to its place. */
export type InstalledProgram = {
  /** The program, without links. */
  readonly path: string;
  /** Package that dpkg says it belongs to. */
  readonly debianPackage?: string;
  /** As Debian calls it: `amd64`. */
  readonly debianArch: string;
  /** The names of the files in a directory; none when it is not there. */
  readonly list: (directory: string) => readonly string[];
  readonly isContainer: boolean;
  /** The address that releases are downloaded from, if the user has set one. */
  readonly downloadBase?: string;
};

/** How koda was installed, and the command that upgrades it in the same way, or words where there is no command. */
type Installation = { readonly way: Way; readonly about: string; readonly command?: string };

type Way = "npm" | "pnpm" | "yarn" | "bun" | "deb" | "install.sh" | "clone" | "container" | "unknown";

/** The name of the npm package. */
const packageName = "koda-cli";

export function installationOf(at: InstalledProgram): Installation {
  return byPackageManager(at) ?? byDebian(at) ?? byClone(at) ?? byImage(at) ?? byOthers(at) ?? byScript(at);
}

type GlobalStore = { way: Way; place: RegExp; command: string };

/** Directories for the programs of a user, which each package manager has for itself. */
const globalStores: readonly GlobalStore[] = [
  { way: "bun", place: /\/\.bun\/install\/global\/node_modules\//, command: `bun add -g ${packageName}@latest` },
  {
    way: "pnpm",
    place: /\/pnpm\/(?:.*\/)?global\/|\/global\/\d+\/(?:\.pnpm|node_modules)\//,
    command: `pnpm add -g ${packageName}@latest`,
  },
  { way: "yarn", place: /\/yarn\/(?:.*\/)?global\//, command: `yarn global add ${packageName}@latest` },
  { way: "npm", place: /\/_npx\//, command: `npx ${packageName}@latest` },
  { way: "npm", place: /\/lib\/node_modules\//, command: `npm install -g ${packageName}@latest` },
];

function byPackageManager({ path, list }: InstalledProgram): Installation | undefined {
  const [project = "", inside] = path.split("/node_modules/", 2);
  if (inside === undefined) return undefined;
  const store = globalStores.find(({ place }) => place.test(path));
  if (store !== undefined) return { way: store.way, about: `installed with ${store.way}`, command: store.command };
  const { way, verb } = managerOf(list(project));
  const command = `cd ${shellWord(project)} && ${way} ${verb} ${packageName}@latest`;
  return { way, about: `a dependency of the project "${project}"`, command };
}

/** The package manager of a project, by its lock file. */
function managerOf(files: readonly string[]): { way: Way; verb: string } {
  if (files.includes("pnpm-lock.yaml")) return { way: "pnpm", verb: "add" };
  if (files.includes("yarn.lock")) return { way: "yarn", verb: "add" };
  if (files.includes("bun.lock")) return { way: "bun", verb: "add" };
  return { way: "npm", verb: "install" };
}

/** The package is a file of the release: no repository has a newer one. */
function byDebian(at: InstalledProgram): Installation | undefined {
  const { debianPackage: name, debianArch } = at;
  if (name === undefined) return undefined;
  const base = baseOf(at);
  const steps = [
    'cd "$(mktemp -d)"',
    `curl -fsSLO ${base}/SHA256SUMS`,
    `deb=$(grep -o '${name}_[^ ]*_${debianArch}\\.deb' SHA256SUMS)`,
    `curl -fsSLO ${base}/"$deb"`,
    "sha256sum --ignore-missing -c SHA256SUMS",
    'sudo apt-get install "./$deb"',
  ];
  return { way: "deb", about: `installed from the Debian package "${name}"`, command: steps.join(" && ") };
}

function byClone({ path, list }: InstalledProgram): Installation | undefined {
  const root = dirname(dirname(path));
  const files = list(root);
  if (!path.includes("/dist/") || !["build.ts", "package-lock.json", ".git"].every((name) => files.includes(name)))
    return undefined;
  const command = `cd ${shellWord(root)} && git pull && npm ci && npm run build`;
  return { way: "clone", about: `built in the clone "${root}"`, command };
}

/** Directories that only the builder of an image, or a distribution, writes to. */
const systemDirectories: readonly string[] = ["/", "/bin", "/usr/bin", "/usr/local/bin"];

function byImage({ path, isContainer }: InstalledProgram): Installation | undefined {
  if (!isContainer || !systemDirectories.includes(dirname(path))) return undefined;
  return { way: "container", about: "a part of this container's image: pull a newer image, or rebuild it" };
}

/** Places that belong to the package managers of systems. */
const ofSystems = /^\/(?:nix|gnu|snap|opt\/homebrew|home\/linuxbrew)\/|\/Cellar\/|^\/(?:usr\/)?bin\//;

function byOthers({ path }: InstalledProgram): Installation | undefined {
  if (path.startsWith("/") && !path.endsWith(" (deleted)") && !ofSystems.test(path)) return undefined;
  return { way: "unknown", about: `installed as "${path}" by something else: upgrade it with that` };
}

function byScript(at: InstalledProgram): Installation {
  const base = baseOf(at);
  // Not through a pipe to sh, which succeeds when nothing comes.
  const steps = [
    'cd "$(mktemp -d)"',
    `curl -fsSLO ${base}/install.sh`,
    `KODA_DOWNLOAD_BASE=${base} sh install.sh --to ${shellWord(dirname(at.path))}`,
  ];
  return { way: "install.sh", about: `a file of its own, "${at.path}"`, command: steps.join(" && ") };
}

function baseOf({ downloadBase }: InstalledProgram): string {
  return downloadBase === undefined ? '"$KODA_DOWNLOAD_BASE"' : shellWord(downloadBase);
}

/** Quoted only where it has to be. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : shellQuoted(text);
}
