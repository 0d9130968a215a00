import { together } from "./claims.ts";
import { parseOptions } from "./options.ts";
import type { ProgramRule } from "./program.ts";
import { unknownProgram, writeToAll } from "./targets.ts";

/** A program that only reads, but for what this says. All option lists are separated by blanks. */
type Reader = {
  /** Options with a value, as far as their values could be taken for something else. */
  takes?: string;
  /** Options that make it run another program or change what it reads. */
  unless?: string;
  /** Options whose value is a file that it writes. */
  writes?: string;
  /** How many operands it reads; the next one is a file that it writes. */
  operands?: number;
};

/** Programs that change nothing, whatever their options are. */
const always = `
  : [ apropos arch b2sum base32 base64 basename bzcat cal caller cat cksum cmp col colordiff column comm cut delta df
  diff diff3 dir dirname dirs du echo egrep exa expand expr eza factor false fgrep fmt fold free getconf getent
  getopts grep
  groups head hexdump hexyl hostid id join jq last lastlog let locale locate logname look ls lsblk lscpu lsof lspci
  lsusb md5 md5sum more nl nm nproc numfmt objdump od paste pathchk pgrep pidof pinky pr printenv ps pstree ptx pwd
  readelf
  readlink realpath rev seq sha1sum sha224sum sha256sum sha384sum sha512sum shasum shellcheck shopt size sleep stat
  strings sum tac tail test times tokei tput tr true tsort tty type ulimit umask uname unexpand uptime users vdir vmstat
  w wait wc whatis whereis which who whoami xzcat xzgrep yes zcat zegrep zfgrep zgrep zipinfo zstdcat
`;

const readers: Readonly<Record<string, Reader>> = {
  ag: { unless: "--pager" },
  bat: { unless: "--pager" },
  compgen: { unless: "-C -F" },
  date: { takes: "-d -f -r --date --file --reference", unless: "-s --set" },
  dmesg: { unless: "-c -C --clear --read-clear -D -E -n" },
  file: { unless: "-C --compile" },
  hostname: { operands: 0, unless: "-F --file -b" },
  iconv: { takes: "-f -t --from-code --to-code", writes: "-o --output" },
  jobs: { unless: "-x" },
  journalctl: { unless: "--vacuum-size --vacuum-time --vacuum-files --rotate --flush --setup-keys --update-catalog" },
  less: { writes: "-o -O --log-file --LOG-FILE" },
  man: { unless: "-P --pager -H --html" },
  rg: { takes: "-e -f -g -t -T -A -B -C -m -M -j -r -E", unless: "--pre --hostname-bin" },
  scc: { writes: "-o --output" },
  sort: {
    takes: "-k -t -T -S --key --field-separator --buffer-size --parallel",
    writes: "-o --output",
    unless: "--compress-program",
  },
  ss: { unless: "-K --kill" },
  tree: { takes: "-L -I -P --filelimit --charset --sort", writes: "-o" },
  uniq: { takes: "-f -s -w", operands: 1 },
  xxd: { takes: "-c -g -l -s -n", operands: 1, unless: "-r" },
  yq: { unless: "-i --inplace --in-place -s --split-exp" },
};

const readerPrograms: ReadonlyMap<string, ProgramRule> = new Map([
  ...always
    .trim()
    .split(/\s+/)
    .map((name) => [name, readerOf({})] as const),
  ...Object.entries(readers).map(([name, reader]) => [name, readerOf(reader)] as const),
]);

export function readerNamed(name: string): ProgramRule | undefined {
  return readerPrograms.get(name);
}

function readerOf({ takes = "", unless = "", writes = "", operands: read = Infinity }: Reader): ProgramRule {
  const list = (names: string) => names.split(" ").filter((name) => name !== "");
  const isHarmless = unless === "" && writes === "" && read === Infinity;
  return ({ args, scope }) => {
    if (isHarmless) return together([]);
    const { operands, unclear, has, values } = parseOptions(args, { takes: `${takes} ${writes}` });
    const isMore = unclear || has(...list(unless));
    const written = [...values(...list(writes)), ...operands.slice(read)];
    return together([writeToAll(written, scope), ...(isMore ? [unknownProgram(scope)] : [])]);
  };
}
