#!/usr/bin/env node
// Starts the koda of this platform. It is in a package of its own, which npm chooses by system, processor and C library.
"use strict";

const { spawn } = require("node:child_process");
const { accessSync, closeSync, constants, existsSync, openSync, readSync } = require("node:fs");
const { name: ownName, version, optionalDependencies } = require("./package.json");

const program = programOf(platformPackage());
requireLoader(program);
const args = process.argv.slice(2);
// No Node stays beside koda, where Node can be replaced.
if (typeof process.execve === "function") process.execve(program, ["koda", ...args], process.env);
else runBeside();

function platformPackage() {
  const base = `${ownName}-${process.platform}-${process.arch}`;
  const name = isMusl() ? `${base}-musl` : base;
  if (name in optionalDependencies) return name;
  const supported = Object.keys(optionalDependencies).map((each) => each.slice(ownName.length + 1));
  return fail(`There is no koda for ${name.slice(ownName.length + 1)}, only for ${supported.join(", ")}`);
}

function isMusl() {
  if (process.platform !== "linux") return false;
  // The network's part of the report can take seconds.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

function programOf(name) {
  try {
    const path = require.resolve(`${name}/bin/koda`);
    accessSync(path, constants.X_OK);
    return path;
  } catch (error) {
    const fix = `npm install --global --include=optional ${ownName}@${version}`;
    return fail(
      error.code === "MODULE_NOT_FOUND"
        ? `The package ${name} is missing. Optional packages were left out, or node_modules or its lock file is from another platform. Run: ${fix}`
        : `The package ${name} cannot be started: ${error.message}. Run: ${fix}`,
    );
  }
}

/** A Node that cannot replace itself aborts, without a word that helps. */
function requireLoader(path) {
  const head = beginningOf(path);
  if (!/^(#!|\x7fELF)/.test(head)) fail(`${path} is no program: the package is damaged, so install it again`);
  const [, loader] = /^#! *(\S+)/.exec(head) ?? /\0(\/[\w./-]*\/ld-[\w.-]+)\0/.exec(head) ?? [];
  if (loader && !existsSync(loader)) fail(`Cannot start ${path}: it needs ${loader}, which this system lacks`);
}

function beginningOf(path) {
  const file = openSync(path);
  const bytes = Buffer.alloc(4096);
  const length = readSync(file, bytes);
  closeSync(file);
  return bytes.toString("latin1", 0, length);
}

function runBeside() {
  // Before the program starts: from then on a signal is for it.
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT"])
    process.on(signal, () => child.kill(signal));
  const child = spawn(program, args, { stdio: "inherit", argv0: "koda" });
  child.on("error", (error) => fail(`Cannot start ${program}: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) return process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** As a shell says that there is no such program: none of koda's own exit codes. */
function fail(message) {
  process.stderr.write(`koda: ${message}\n`);
  process.exit(127);
}
