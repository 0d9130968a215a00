import { type Attempt, type Table } from "../../support/attempts.ts";

type Work = Pick<Attempt, "run" | "needs" | "in"> & { says: RegExp; exit?: number };

/** What shells and the programs of every system do. */
const work: Record<string, Work> = {
  "words go through pipes, and files come from nowhere": {
    run: "cat <<END | tr a-z A-Z; diff <(echo a) <(echo b); echo here >&2; cat <<< string; echo out > /dev/stdout; echo err > /dev/stderr\nword\nEND",
    says: /^WORD\n1c1\n< a\n---\n> b\nstring\nout\nhere\nerr$/,
  },
  "much goes through pipes": {
    run: "head -c 20M /dev/zero | tee >(wc -c > one) | cat | wc -c; wait; until [ -s one ]; do :; done; cat one",
    says: /^20971520\n20971520$/,
  },
  "who talks to nobody ends": { run: "yes | head -n 100000 | tail -n1; echo ${PIPESTATUS[@]}", says: /^y\n141 0 0$/ },
  "limits are as ever": {
    run: '[ "$(nproc)" -ge 1 ] && [ "$(ulimit -Sn)" -ge 256 ] && ulimit -c && ulimit -s > /dev/null && echo fine',
    says: /^\S+\nfine$/,
  },
  "processes are listed": {
    run: "ps -o pid= -p $$ | wc -l; ps -e | grep -cw ps; HOME=$TMPDIR top -b -n1 | grep -c PID",
    needs: ["ps", "top"],
    says: /^1\n1\n1$/,
  },
  "file systems are listed": {
    run: "df . | tail -n1 | wc -l; mount | grep -c ' / '; cat /proc/mounts > /dev/null && echo read",
    says: /^1\n[12]\nread$/,
  },
  "everything is found": { run: "find / -maxdepth 2 2> /dev/null | grep -cx '/usr/bin'", says: /^1$/ },
  "times and places are known": {
    run: "TZ=Europe/Berlin date -d @0 +%H; LC_ALL=C.UTF-8 sh -c 'printf %s ä | wc -m'; LC_ALL=C sort -c /dev/null; TERM=xterm tput cols; { time true; } 2>&1 | grep -c real; id -un > /dev/null && echo somebody",
    needs: ["tput"],
    says: /^01\n1\n\d+\n1\nsomebody$/,
  },
  "loops wait and watch": {
    run: "(sleep 0.1; touch done) & until [ -e done ]; do sleep 0.02; done; wait; echo over",
    says: /^over$/,
  },
  "files are locked, and told of": {
    run: "flock lock -c 'flock -n lock true || echo held'; mkfifo p && (echo through > p &) && cat p",
    needs: ["flock"],
    says: /^held\nthrough$/,
  },
  "temporary files are made and removed": {
    run: 'd=$(mktemp -d) && f=$(mktemp -p "$d") && echo x > "$f" && sort -S 1M --temporary-directory="$d" "$f" && rm -r "$d" && [ ! -e "$d" ] && echo gone',
    says: /^x\ngone$/,
  },
  "an environment can be large": {
    run: "export BIG=$(head -c 100000 /dev/zero | tr '\\0' x); sh -c 'echo ${#BIG}'",
    says: /^100000$/,
  },
  "many arguments can be given": { run: "seq 20000 | xargs echo | wc -w", says: /^20000$/ },
  "jobs are waited for": {
    run: "for i in 1 2 3; do (exit $i) & p=$!; wait $p; echo $?; done; trap 'echo bye' EXIT",
    says: /^1\n2\n3\nbye$/,
  },
  "a signal is caught": {
    run: "trap 'echo caught' USR1; kill -USR1 $$; echo on; timeout 0.1 sleep 5; echo $?",
    says: /^caught\non\n124$/,
  },
  "shared memory is a directory": {
    run: "echo x > /dev/shm/f && cat /dev/shm/f && rm /dev/shm/f; head -c4 /dev/urandom | wc -c; echo > /dev/full",
    in: {
      landlock: {
        says: /^.*Permission denied\n4\n.*No space left on device$|^4\n/,
        exit: 1,
        gap: /\/dev\/shm are closed/,
      },
    },
    says: /^x\n4\n.*No space left on device$/,
    exit: 1,
  },
};

const exits = [0, 1, 2, 3, 63, 64, 125, 126, 127, 128, 129, 200, 254, 255] as const;
const signals = {
  HUP: 1,
  INT: 2,
  ILL: 4,
  ABRT: 6,
  FPE: 8,
  KILL: 9,
  SEGV: 11,
  PIPE: 13,
  ALRM: 14,
  TERM: 15,
  XCPU: 24,
  SYS: 31,
} as const;

const ends: readonly Attempt[] = [
  ...exits.map((exit): [string, number] => [`exit ${exit}`, exit]),
  ...Object.entries(signals).map(([name, number]): [string, number] => [`ulimit -c 0; kill -${name} $$`, 128 + number]),
].map(([run, exit]) => ({
  that: `"${run}" ends with ${exit}`,
  run,
  confined: { says: /^$/, exit },
  unconfined: { says: /^$/, exit },
}));

export const shell: Table = {
  about: "the shell",
  attempts: [
    ...Object.entries(work).map(([that, { says, exit = 0, ...rest }]): Attempt => ({
      that,
      ...rest,
      confined: { says, exit },
      unconfined: { says, exit },
    })),
    ...ends,
    {
      that: "every exit code comes through a shell",
      run: "for i in $(seq 0 255); do (exit $i); [ $? = $i ] || echo $i; done; echo over",
      confined: { says: /^over$/ },
    },
  ],
};
