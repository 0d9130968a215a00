import type { Flags } from "./flags.ts";
import * as value from "./values.ts";

/** The hosts that commands may reach, through koda's proxies. */
export const egress = {
  "allow-net": {
    aliases: ["allow-host"],
    value: value.list(value.host),
    many: true,
    group: "Trust",
    about: "One more host that commands may reach, such as *.example.com or example.com:22; may be repeated",
  },
  "deny-net": {
    aliases: ["deny-host"],
    value: value.list(value.host),
    many: true,
    group: "Trust",
    about: "A host that commands may not reach, even if it is allowed; may be repeated",
  },
  net: {
    value: value.oneOf("allowlist", "none", "open"),
    group: "Trust",
    about: "The hosts that commands may reach: those of development and of --allow-net, none, or every public host",
    default: "allowlist",
  },
} as const satisfies Flags;

/** The project and the paths that commands may touch: the same for a run and for `koda sandbox`. */
export const places = {
  cd: {
    short: "C",
    value: value.directory,
    group: "Trust",
    about: "The project's root",
    default: "the current directory",
  },
  "allow-write": {
    aliases: ["add-dir"],
    value: value.list(value.directory),
    many: true,
    group: "Trust",
    about: "One more writable directory; may be repeated",
  },
  "allow-read": {
    value: value.list(value.path),
    many: true,
    group: "Trust",
    about: "Make a hidden path readable, such as ~/.ssh; may be repeated",
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
    about: "Pass one more environment variable to commands; may be repeated",
  },
} as const satisfies Flags;

export const rights = {
  "no-sandbox": { group: "Trust", about: "Run commands with your own permissions, without kernel enforcement" },
} as const satisfies Flags;
