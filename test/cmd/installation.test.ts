import { describe, expect, test } from "bun:test";
import { type InstalledProgram, installationOf } from "../../cmd/installation.ts";

const usual: Omit<InstalledProgram, "path"> = { debianArch: "amd64", list: () => [], isContainer: false };
const modules = "node_modules/@koda-cli/linux-x64/bin/koda";

describe("koda upgrade knows a program", () => {
  const rows: readonly [
    about: string,
    at: Partial<InstalledProgram> & { path: string },
    way: string,
    command?: string,
  ][] = [
    ["of npm", { path: `/usr/lib/${modules}` }, "npm", "npm install -g koda-cli@latest"],
    [
      "of npm under nvm",
      { path: `/home/me/.nvm/versions/node/v24/lib/${modules}` },
      "npm",
      "npm install -g koda-cli@latest",
    ],
    ["of npx", { path: `/home/me/.npm/_npx/0f2a/${modules}` }, "npm", "npx koda-cli@latest"],
    ["of pnpm", { path: `/home/me/.local/share/pnpm/global/5/${modules}` }, "pnpm", "pnpm add -g koda-cli@latest"],
    ["of yarn", { path: `/home/me/.config/yarn/global/${modules}` }, "yarn", "yarn global add koda-cli@latest"],
    ["of bun", { path: `/home/me/.bun/install/global/${modules}` }, "bun", "bun add -g koda-cli@latest"],
    ["of a project", { path: `/srv/app/${modules}` }, "npm", "cd /srv/app && npm install koda-cli@latest"],
    [
      "of a project of pnpm",
      { path: `/srv/my app/node_modules/.pnpm/x/${modules}`, list: () => ["pnpm-lock.yaml"] },
      "pnpm",
      "cd '/srv/my app' && pnpm add koda-cli@latest",
    ],
    ["in a container's image", { path: "/usr/local/bin/koda", isContainer: true }, "container"],
    [
      "that npm has put into a container",
      { path: `/usr/local/lib/${modules}`, isContainer: true },
      "npm",
      "npm install -g koda-cli@latest",
    ],
    [
      "that the script has put into a container",
      { path: "/home/me/.local/bin/koda", isContainer: true, downloadBase: "https://example.com/koda" },
      "install.sh",
      'cd "$(mktemp -d)" && curl -fsSLO https://example.com/koda/install.sh && KODA_DOWNLOAD_BASE=https://example.com/koda sh install.sh --to /home/me/.local/bin',
    ],
    [
      "of the script, from an address that only the user knows",
      { path: "/usr/local/bin/koda" },
      "install.sh",
      'cd "$(mktemp -d)" && curl -fsSLO "$KODA_DOWNLOAD_BASE"/install.sh && KODA_DOWNLOAD_BASE="$KODA_DOWNLOAD_BASE" sh install.sh --to /usr/local/bin',
    ],
    ["of a distribution", { path: "/usr/bin/koda" }, "unknown"],
    ["of Nix", { path: "/nix/store/0c1d-koda/bin/koda" }, "unknown"],
    ["of Homebrew", { path: "/opt/homebrew/Cellar/koda/1/bin/koda" }, "unknown"],
    ["that is gone", { path: "/home/me/.local/bin/koda (deleted)" }, "unknown"],
    [
      "of a clone",
      { path: "/home/me/koda/dist/koda", list: () => ["build.ts", "package-lock.json", ".git"] },
      "clone",
      "cd /home/me/koda && git pull && npm ci && npm run build",
    ],
  ];
  for (const [about, at, way, command] of rows)
    test(about, () => {
      const found = installationOf({ ...usual, ...at });
      expect<unknown>({ way: found.way, command: found.command }).toEqual({ way, command });
    });
});
