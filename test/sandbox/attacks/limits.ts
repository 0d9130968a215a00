import { python, type Table } from "../../support/attempts.ts";

/** Of user 0 the kernel counts no processes; only a process namespace can be limited as a whole. */
const withoutRoots = { root: { says: /^(EAGAIN\n)?(True|False)$/ }, nobody: { says: /^EAGAIN\nTrue$/ } } as const;

/** What one command can take away from the others, and from the next. */
export const limits: Table = {
  about: "what a command takes",
  ground: { limits: { processes: 400, openFiles: 1200 } },
  attempts: [
    {
      that: "there are as many processes as there may be, and no more",
      // Sleepers that do nothing; the one who made them ends them all.
      run: python`
children = []
try:
    while len(children) < 1000:
        child = os.fork()
        if child == 0: signal.pause(); os._exit(0)
        children.append(child)
except OSError as error: print(errno.errorcode[error.errno])
for child in children: os.kill(child, signal.SIGKILL)
for child in children: os.waitpid(child, 0)
print(len(children) < 400)`,
      confined: { says: /^EAGAIN\nTrue$/ },
      in: { bwrap: withoutRoots, landlock: withoutRoots },
    },
    {
      that: "they were all gone, and there is room for others",
      run: "for i in $(seq 50); do sleep 0 & done; wait; echo over",
      confined: { says: /^over$/ },
    },
    {
      that: "a thousand files can be open, and not two thousand",
      run: python`
held = []
try:
    while len(held) < 2000: held.append(os.open("src/file", os.O_RDONLY))
except OSError as error: print(errno.errorcode[error.errno])
print(1000 < len(held) < 1200)`,
      confined: { says: /^EMFILE\nTrue$/ },
    },
    {
      that: "the next command starts as the first did",
      run: "umask 077; cd /; export LEFT=1; ulimit -n 64; trap '' TERM; exit 3",
      confined: { says: /^$/, exit: 3 },
    },
    {
      that: "nothing of it is left",
      run: 'umask; [ "$PWD" = "$P" ] && echo "${LEFT-nothing}"; [ "$(ulimit -n)" -gt 64 ] && echo many; trap',
      confined: { says: /^0022\nnothing\nmany$/ },
    },
  ],
};
