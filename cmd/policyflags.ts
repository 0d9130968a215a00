import type { Flags } from "./flags.ts";
import * as value from "./values.ts";

/** Which hosts commands may reach, through koda's proxies. */
export const egress = {
  "allow-net": {
    aliases: ["allow-host"],
    value: value.list(value.host),
    many: true,
    group: "Trust",
    about: "One more host that commands may reach, as *.example.com or example.com:22; may be repeated",
  },
  "deny-net": {
    aliases: ["deny-host"],
    value: value.list(value.host),
    many: true,
    group: "Trust",
    about: "A host that commands may not reach, whatever allows it; may be repeated",
  },
  net: {
    value: value.oneOf("allowlist", "none", "open"),
    group: "Trust",
    about: "What commands may reach: the hosts of development and of --allow-net, nothing, or every public host",
    standard: "allowlist",
  },
} as const satisfies Flags;

/** Where commands run and what they may touch: the same for a run and for `koda sandbox`. */
export const places = {
  cd: {
    short: "C",
    value: value.directory,
    group: "Trust",
    about: "The project's root",
    standard: "the current directory",
  },
  "allow-write": {
    aliases: ["add-dir"],
    value: value.list(value.directory),
    many: true,
    group: "Trust",
    about: "One more directory that may be written to; may be repeated",
  },
  "allow-read": {
    value: value.list(value.path),
    many: true,
    group: "Trust",
    about: "Open a path that is hidden from every run, as ~/.ssh is; may be repeated",
  },
  "deny-read": {
    value: value.list(value.path),
    many: true,
    group: "Trust",
    about: "Hide one more path; may be repeated",
  },
  "allow-git": {
    group: "Trust",
    about: "Let commands commit in the project's repository; its hooks and settings stay protected",
  },
  ...egress,
  "allow-env": {
    aliases: ["pass-env"],
    value: value.list(value.variable),
    many: true,
    group: "Trust",
    about: "Let one environment variable through to commands; may be repeated",
  },
} as const satisfies Flags;

/** Whether anything holds them to that. */
export const rights = {
  "no-sandbox": { group: "Trust", about: "Run commands with your own rights, without kernel enforcement" },
} as const satisfies Flags;
