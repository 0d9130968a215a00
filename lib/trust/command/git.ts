import { type Claim, noEffect } from "../claim.ts";
import { destructive, remote, together, unknownWrite } from "./claims.ts";
import { parseOptions, type ParsedOptions } from "./options.ts";
import type { ProgramCall, ProgramRule } from "./program.ts";
import { forkScope } from "./scope.ts";
import { spotsOf } from "./spot.ts";
import { unknownProgram, writeTo, writeToAll } from "./targets.ts";
import { exact, joined, mayBeOption, type Text } from "./text.ts";

/** git, by its subcommand. One that is not known may be an alias, and so anything. */
export const git: ProgramRule = (call) => {
  const { operands, has, values } = parseOptions(call.args, {
    takes: "-C -c --git-dir --work-tree --namespace --config-env",
    leading: true,
  });
  const [subcommand, ...args] = operands;
  if (subcommand === undefined) return noEffect;
  const scope = forkScope(call.scope);
  for (const directory of [...values("-C"), ...values("--work-tree")]) scope.cwds = spotsOf(directory, scope);

  const settings = values("-c").every(({ head, rest }) => rest === "none" && harmlessSetting.test(head));
  const isSteered = !settings || has("--config-env") || values("--exec-path").length > 0;
  const claim =
    subcommand.rest === "none"
      ? subcommandClaim(subcommand.head, { ...call, name: subcommand.head, args, scope })
      : undefined;
  return together([claim ?? unknownProgram(scope), ...(isSteered ? [unknownWrite] : [])]);
};

/** Settings that can make git run nothing, whatever their value is. */
const harmlessSetting =
  /^(color\.|column\.|advice\.|user\.|log\.|i18n\.|format\.pretty|status\.|init\.defaultbranch|safe\.directory|core\.(quotepath|abbrev|autocrlf|pager=cat|pager=$)|diff\.(renames|algorithm|context|noprefix|mnemonicprefix|wserrorhighlight)|commit\.gpgsign=false|tag\.gpgsign=false|gc\.auto=)/i;

function subcommandClaim(name: string, call: ProgramCall): Claim | undefined {
  if (inspecting.has(name)) return inspect(call);
  const program = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  return program?.(call);
}

/** Subcommands that only look, but for the options of `inspect`. */
const inspecting: ReadonlySet<string> = new Set(
  `annotate blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry count-objects describe diff
  diff-files diff-index diff-tree for-each-ref fsck get-tar-commit-id grep help log ls-files ls-tree merge-base
  merge-tree
  name-rev patch-id range-diff rev-list rev-parse shortlog show show-branch show-index show-ref status stripspace var
  verify-commit verify-pack verify-tag version whatchanged`.split(/\s+/),
);

function inspect({ args, scope, name }: ProgramCall): Claim {
  const { has, values, unclear } = parseOptions(args, { takes: "--output" });
  const runs = has("--ext-diff", "--open-files-in-pager", "--web", "--lost-found") || (name === "grep" && has("-O"));
  return together([writeToAll(values("--output"), scope), ...(runs || unclear ? [unknownWrite] : [])]);
}

const subcommands: Readonly<Record<string, ProgramRule>> = {
  push: ({ args }) => {
    const { operands, has } = parseOptions(args, { takes: "-o --push-option --receive-pack --exec --repo" });
    if (has("-n", "--dry-run")) return remote;
    const rule = pushRules.find(([, ...options]) => has(...options));
    if (rule !== undefined) return destructive(rule[0]);
    const refspecs = operands.slice(1).map(({ head }) => head);
    if (refspecs.some((refspec) => refspec.startsWith("+"))) return destructive("git push +refspec");
    if (refspecs.some((refspec) => /^:./.test(refspec))) return destructive("git push :refspec");
    return remote;
  },
  fetch: () => remote,
  pull: () => remote,
  "ls-remote": () => remote,
  lfs: () => remote,
  svn: () => remote,
  p4: () => remote,
  "send-email": () => remote,
  "request-pull": () => remote,
  clone: ({ args, scope }) => {
    const { operands } = parseOptions(args, {
      takes:
        "-b --branch -o --origin -u --upload-pack --depth --reference --separate-git-dir -c --config -j --jobs --filter --template",
    });
    const [url, directory] = operands;
    if (url === undefined) return remote;
    const name = exact(url.head.replace(/\/+$|\.git\/*$/g, "").replace(/^.*[/:]/s, "") || ".");
    return together([remote, writeTo(directory ?? name, scope)]);
  },
  init: ({ args, scope }) => {
    const { operands } = parseOptions(args, {
      takes: "-b --initial-branch --template --separate-git-dir --object-format",
    });
    return together([unknownProgram(scope), writeToAll(operands, scope)]);
  },
  remote: listing({ verbs: "get-url", asksServer: "show update prune" }),
  submodule: ({ args, scope, script }) => {
    const [verb, ...others] = parseOptions(args, { leading: true }).operands;
    if (verb === undefined || /^(status|summary)$/.test(verb.head)) return noEffect;
    if (verb.head === "foreach") return script(joined(parseOptions(others, { leading: true }).operands), scope);
    return /^(add|update)$/.test(verb.head) ? remote : unknownProgram(scope);
  },
  branch: ({ args, scope }) => {
    const options = parseOptions(args, { takes: `${listTakes} -u --set-upstream-to` });
    const changes =
      "-d -D --delete -m -M --move -c -C --copy -u --set-upstream-to --unset-upstream --edit-description -f --force -t --track";
    return lists(options, changes, scope, "-a --all -r --remotes --show-current");
  },
  tag: ({ args, scope }) => {
    const options = parseOptions(args, { takes: `${listTakes} -m -F -u --message --file --local-user` });
    const changes = "-d --delete -a --annotate -s --sign -m --message -F --file -u --local-user -f --force -e --edit";
    return lists(options, changes, scope, "-n -v --verify");
  },
  config: ({ args, scope }) => config(args, scope),
  stash: (call) => {
    const [verb] = call.args;
    if (verb?.rest === "none" && /^(list|show)$/.test(verb.head)) return inspect({ ...call, args: call.args.slice(1) });
    const isLost = verb !== undefined && /^(drop|clear)$/.test(verb.head);
    return isLost ? destructive(`git stash ${verb.head}`) : unknownProgram(call.scope);
  },
  reflog: (call) => {
    const verb = call.args[0]?.head ?? "show";
    if (/^(expire|delete)$/.test(verb)) return destructive(`git reflog ${verb}`);
    return inspect(call);
  },
  gc: ({ args, scope }) => {
    const [until] = parseOptions(args, { takes: "--prune" }).values("--prune");
    return until !== undefined && /^(now|all)$/.test(until.head)
      ? destructive("git gc --prune=now")
      : unknownProgram(scope);
  },
  prune: () => destructive("git prune"),
  "filter-repo": () => destructive("git filter-repo"),
  worktree: ({ args, scope }) => {
    const { operands } = parseOptions(args, { takes: "-b -B --reason" });
    const [verb, path] = operands;
    if (verb?.head === "list") return noEffect;
    const isPlaced = verb !== undefined && /^(add|move|remove)$/.test(verb.head) && path !== undefined;
    return together([unknownProgram(scope), ...(isPlaced ? [writeTo(path, scope)] : [])]);
  },
  notes: listing({ verbs: "list show" }),
  bisect: ({ args, scope, run }) => {
    const [verb, ...line] = args;
    if (verb?.head === "log") return noEffect;
    return together([unknownProgram(scope), ...(verb?.head === "run" ? [run(line, scope)] : [])]);
  },
  rebase: ({ args, scope, script }) => {
    const commands = parseOptions(args, { takes: "-x --exec --onto -s -X" }).values("-x", "--exec");
    return together([unknownProgram(scope), ...commands.map((command) => script(command, scope))]);
  },
  "symbolic-ref": ({ args, scope }) => {
    const { operands, has, unclear } = parseOptions(args, { takes: "-m" });
    return operands.length > 1 || has("-d", "--delete") || unclear ? unknownProgram(scope) : noEffect;
  },
  "hash-object": ({ args, scope }) =>
    parseOptions(args, { takes: "-t" }).has("-w") ? unknownProgram(scope) : noEffect,
  "sparse-checkout": listing({ verbs: "list" }),
  archive: ({ args, scope }) => {
    const { has, values, unclear } = parseOptions(args, { takes: "-o --output --format --prefix --remote --exec" });
    const written = writeToAll(values("-o", "--output"), scope);
    return together([written, ...(has("--remote") ? [remote] : []), ...(unclear ? [unknownWrite] : [])]);
  },
  "format-patch": ({ args, scope }) => {
    const { has, values } = parseOptions(args, { takes: "-o --output-directory --output" });
    if (has("--stdout")) return noEffect;
    const written = values("-o", "--output-directory", "--output");
    return together([unknownProgram(scope), writeToAll(written, scope)]);
  },
  bundle: ({ args, scope }) => {
    const [verb, file] = parseOptions(args).operands;
    if (verb !== undefined && /^(verify|list-heads)$/.test(verb.head)) return noEffect;
    return together([
      unknownProgram(scope),
      ...(verb?.head === "create" && file !== undefined ? [writeTo(file, scope)] : []),
    ]);
  },
  apply: ({ args, scope }) => {
    const { has, unclear } = parseOptions(args, { takes: "-p -C --directory --include --exclude" });
    const onlyLooks = has("--check", "--stat", "--numstat", "--summary") && !has("--apply") && !unclear;
    return onlyLooks ? noEffect : unknownProgram(scope);
  },
};

const pushRules: readonly (readonly [rule: string, ...options: string[]])[] = [
  ["git push --force", "-f", "--force", "--force-with-lease", "--force-if-includes"],
  ["git push --delete", "-d", "--delete"],
  ["git push --mirror", "--mirror"],
  ["git push --prune", "--prune"],
];

const listTakes = "--contains --no-contains --merged --no-merged --points-at --format --sort";

/** `git branch` and `git tag`: with an option that lists, operands are patterns, else the name of a new one. */
function lists(
  { operands, has, unclear }: ParsedOptions,
  changing: string,
  scope: ProgramCall["scope"],
  listing: string,
): Claim {
  if (unclear || has(...changing.split(" "))) return unknownProgram(scope);
  const isListing = has("-l", "--list", ...listTakes.split(" "), ...listing.split(" "));
  return isListing || operands.length === 0 ? noEffect : unknownProgram(scope);
}

/** A subcommand that lists when it has no verb, or one of these. */
function listing({ verbs, asksServer = "" }: { verbs: string; asksServer?: string }): ProgramRule {
  return ({ args, scope }) => {
    const [verb] = parseOptions(args).operands;
    if (verb === undefined) return args.some(mayBeOption) ? unknownProgram(scope) : noEffect;
    if (verbs.split(" ").includes(verb.head)) return noEffect;
    return asksServer.split(" ").includes(verb.head) ? remote : unknownProgram(scope);
  };
}

const configChanges = "--unset --unset-all --add --replace-all --rename-section --remove-section -e --edit".split(" ");

function config(args: readonly Text[], scope: ProgramCall["scope"]): Claim {
  const { operands, has, values, unclear } = parseOptions(args, {
    takes: "-f --file --blob --type --default --comment",
  });
  const [verb] = operands;
  const isAsking = has(
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--get-color",
    "--get-colorbool",
    "-l",
    "--list",
  );
  const isVerb = verb !== undefined && /^(get|list)$/.test(verb.head);
  const changes = has(...configChanges);
  if (!changes && !unclear && (isAsking || isVerb || operands.length <= 1)) return noEffect;

  const { home } = scope.around;
  const files = values("-f", "--file");
  if (files.length > 0) return writeToAll(files, scope);
  if (has("--global")) return writeTo(exact(`${home}/.gitconfig`), scope);
  return has("--system") ? writeTo(exact("/etc/gitconfig"), scope) : unknownProgram(scope);
}
