import { type Claim, noEffect } from "../claim.ts";
import { together, unknownWrite } from "./claims.ts";
import { parseOptions, type ParsedOptions } from "./options.ts";
import { inDirectory } from "./output.ts";
import type { ProgramRule } from "./program.ts";
import type { ShellScope } from "./scope.ts";
import { erase, writeTo, writeToAll } from "./targets.ts";
import { append, exact, type Text } from "./text.ts";

/** Programs that change the files which their operands name. */
export const writers: Readonly<Record<string, ProgramRule>> = {
  touch: all("-d -r -t --date --reference"),
  mkdir: all("-m --mode"),
  mkfifo: all("-m --mode"),
  mknod: first("-m --mode"),
  truncate: all("-s -r --size --reference"),
  shred: all("-n -s --iterations --size"),
  tee: all(""),
  sponge: all(""),
  chmod: afterMode(""),
  chown: afterMode("--from"),
  chgrp: afterMode(""),
  chattr: afterMode("-v -p"),
  setfacl: afterMode("-m -x -M -X --modify --remove"),
  rm: ({ args, scope }) => {
    const { operands, has } = parseOptions(args);
    return eraseAll(operands, has("-r", "-R", "--recursive"), scope);
  },
  unlink: ({ args, scope }) => eraseAll(parseOptions(args).operands, false, scope),
  rmdir: ({ args, scope }) => eraseAll(parseOptions(args).operands, false, scope),
  cp: ({ args, scope }) => copy(parseOptions(args, { takes: copyTakes }), scope),
  install: ({ args, scope }) => {
    const options = parseOptions(args, { takes: `${copyTakes} -m --mode -o --owner -g --group` });
    return options.has("-d", "--directory") ? writeToAll(options.operands, scope) : copy(options, scope);
  },
  ln: ({ args, scope }) => {
    const options = parseOptions(args, { takes: copyTakes });
    const [only, ...others] = options.operands;
    if (only === undefined || others.length > 0) return copy(options, scope);
    return writeTo(nameIn(exact("."), only), scope);
  },
  mv: ({ args, scope }) => {
    const options = parseOptions(args, { takes: copyTakes });
    const { sources } = copied(options);
    return together([copy(options, scope), eraseAll(sources, false, scope)]);
  },
  dd: ({ args, scope }) => {
    const outputs = args.filter(({ head }) => head.startsWith("of="));
    return writeToAll(
      outputs.map(({ head, rest }) => ({ head: head.slice("of=".length), rest })),
      scope,
    );
  },
  tar: ({ args, scope }) => tar(args, scope),
  unzip: ({ args, scope }) => {
    const { operands, has, values } = parseOptions(args, { takes: "-d -x -P" });
    if (has("-l", "-t", "-p", "-c", "-Z", "-v")) return noEffect;
    if (operands.length === 0) return noEffect;
    return extractTo(values("-d"), scope);
  },
  zip: first("-b -i -n -P -t -tt -x"),
  gzip: compressor(),
  gunzip: compressor(),
  bzip2: compressor(),
  bunzip2: compressor(),
  xz: compressor(),
  unxz: compressor(),
  zstd: compressor(),
};

function all(takes: string): ProgramRule {
  return ({ args, scope }) => writeToAll(parseOptions(args, { takes }).operands, scope);
}

function first(takes: string): ProgramRule {
  return ({ args, scope }) => writeToAll(parseOptions(args, { takes }).operands.slice(0, 1), scope);
}

/** The first operand says what to change about the others, unless an option does. */
function afterMode(takes: string): ProgramRule {
  return ({ args, scope }) => {
    const { operands, has, values } = parseOptions(args, { takes });
    const hasMode = has("--reference") || values("-m", "-x", "-M", "-X", "--modify", "--remove").length > 0;
    return writeToAll(hasMode ? operands : operands.slice(1), scope);
  };
}

function eraseAll(paths: readonly Text[], whole: boolean, scope: ShellScope): Claim {
  return together([
    ...paths.map((path) => erase(path, { whole }, scope)),
    ...(paths.length === 0 ? [unknownWrite] : []),
  ]);
}

const copyTakes = "-t --target-directory -S --suffix";

function copy(options: ParsedOptions, scope: ShellScope): Claim {
  const { target } = copied(options);
  return target === undefined ? unknownWrite : writeTo(target, scope);
}

function copied({ operands, values }: ParsedOptions): { sources: readonly Text[]; target: Text | undefined } {
  const [directory] = values("-t", "--target-directory");
  if (directory !== undefined) return { sources: operands, target: directory };
  return { sources: operands.slice(0, -1), target: operands.at(-1) };
}

/** The path's own name in another directory. */
function nameIn(directory: Text, { head, rest }: Text): Text {
  return append(directory, { head: `/${head.slice(head.lastIndexOf("/") + 1)}`, rest });
}

function tar([first = exact(""), ...others]: readonly Text[], scope: ShellScope): Claim {
  // Without a dash `f` takes the next argument wherever it stands: `cfz out.tgz` is `-czf out.tgz`.
  const isOldStyle = /^[a-zA-Z]/.test(first.head);
  const cluster = isOldStyle ? exact(`-${first.head.replace(/(.*)f(.*)/, "$1$2f")}`) : first;
  const { given, has, values } = parseOptions([cluster, ...others], { takes: "-C --directory -f --file -X -T -b -I" });
  const file = values("-f", "--file");
  const runs = has("-I", "--use-compress-program", "--to-command", "--checkpoint-action", "--info-script", "-F");
  if (runs) return unknownWrite;
  if (has("-t", "--list")) return noEffect;
  if (has("-x", "--extract", "--get")) {
    if (given.has("-P") || given.has("--absolute-names"))
      return { ...unknownWrite, outside: "tar with absolute names" };
    return has("-O", "--to-stdout") ? noEffect : extractTo(values("-C", "--directory"), scope);
  }
  return file.length === 0
    ? unknownWrite
    : writeToAll(
        file.filter(({ head }) => head !== "-"),
        scope,
      );
}

function extractTo(directories: readonly Text[], scope: ShellScope): Claim {
  const targets = directories.length === 0 ? [exact(".")] : directories;
  return writeToAll(targets.map(inDirectory), scope);
}

/** Each file is replaced by its other form. */
function compressor(): ProgramRule {
  return ({ args, scope }) => {
    const { operands, has } = parseOptions(args, { takes: "-S --suffix -o" });
    if (operands.length === 0 || has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test")) return noEffect;
    return writeToAll(operands, scope);
  };
}
