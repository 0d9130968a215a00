import { python, type Table } from "../../support/attempts.ts";

const lessTime = /be given fewer processors/;

/** Signals, tracing, priorities and limits of processes that the command did not start. */
export const processes: Table = {
  about: "other processes",
  attempts: [
    {
      that: "a descriptor of a process outside is not to be had, to signal it or to take its files",
      run: python`print(tried(lambda: call("pidfd_send_signal", call("pidfd_open", STRANGER, 0), 19, 0, 0)))
print(tried(lambda: call("pidfd_getfd", call("pidfd_open", STRANGER, 0), 0, 0)))`,
      confined: { says: /^ESRCH\nESRCH$/ },
      in: { landlock: { says: /^EPERM\nEPERM$/ } },
      unconfined: { says: /^done\ndone$/, changes: ["the stranger is stopped"], only: "root" },
    },
    {
      that: "a thread outside gets no signal, by none of the calls that send one",
      run: python`
print(tried(call, "tgkill", STRANGER, STRANGER, 0), tried(call, "rt_sigqueueinfo", STRANGER, 0, struct.pack("iii116x", 0, 0, -1)))
print(tried(os.kill, STRANGER, 0), tried(os.killpg, os.getpgid(0) if STRANGER == 0 else STRANGER, 0))`,
      confined: { says: /^ESRCH ESRCH\nESRCH ESRCH$/ },
      in: { landlock: { says: /^EPERM EPERM\nEPERM (EPERM|ESRCH)$/ } },
    },
    {
      that: "nobody outside is made the one who hears of a file",
      run: python`
near, far = socket.socketpair()
fcntl.fcntl(near, 10, signal.SIGSTOP)
print(tried(fcntl.fcntl, near, fcntl.F_SETOWN, STRANGER))
fcntl.fcntl(near, fcntl.F_SETFL, os.O_ASYNC)
far.send(b"x"); time.sleep(0.02)`,
      confined: { says: /^ESRCH$/ },
      in: { landlock: { says: /^(done|EPERM)$/ } },
      unconfined: { says: /^done$/, changes: ["the stranger is stopped"] },
    },
    {
      that: "tracing is refused: of others, of a child, and by a parent",
      run: python`
print(tried(call, "ptrace", 16, STRANGER, 0, 0), flush=True)
child = os.fork()
if child == 0:
    print(tried(call, "ptrace", 0, 0, 0, 0), flush=True); signal.pause()
print(tried(call, "ptrace", 16, child, 0, 0)); os.kill(child, 9)`,
      confined: { says: /^(EPERM\n)?EPERM\nEPERM$/ },
      unconfined: { says: /done/, changes: ["the stranger is stopped"], only: "root" },
    },
    {
      that: "no process's memory is read or written, not even one's own by another's name",
      run: python`
part = struct.pack("QQ", ctypes.addressof(ctypes.create_string_buffer(8)), 8)
for name in ("process_vm_readv", "process_vm_writev"):
    print(tried(call, name, STRANGER, part, 1, part, 1, 0), tried(call, name, os.getpid(), part, 1, part, 1, 0))`,
      confined: { says: /^EPERM EPERM\nEPERM EPERM$/ },
    },
    {
      that: "nobody else's memory is advised on, moved or taken away",
      run: python`
print(tried(call, "process_madvise", 0, bytes(16), 1, 4, 0), tried(call, "process_mrelease", 0, 0))
print(tried(call, "migrate_pages", STRANGER, 1, bytes(8), bytes(8)), tried(call, "move_pages", STRANGER, 0, 0, 0, 0, 0))
print(tried(call, "kcmp", os.getpid(), STRANGER, 0, 0, 0))`,
      confined: { says: /^EPERM EPERM\n(ESRCH|ENOSYS) (ESRCH|ENOSYS)\nEPERM$/ },
      in: { landlock: { says: /^EPERM EPERM\n(EPERM|ENOSYS) (EPERM|ENOSYS)\nEPERM$/ } },
    },
    {
      that: "nobody else is made slower",
      run: python`
print(tried(os.setpriority, os.PRIO_PROCESS, STRANGER, 7), tried(os.sched_setaffinity, STRANGER, {0}))
print(tried(os.sched_setscheduler, STRANGER, os.SCHED_BATCH, os.sched_param(0)), tried(call, "ioprio_set", 1, STRANGER, 3 << 13))
print(tried(call, "sched_setattr", STRANGER, struct.pack("IIQiIQQQ", 48, 3, 0, 7, 0, 0, 0, 0), 0))`,
      confined: { says: /^ESRCH ESRCH\nESRCH ESRCH\nESRCH$/ },
      in: {
        landlock: {
          root: { says: /^EPERM EPERM\nEPERM EPERM\nEPERM$/ },
          nobody: { says: /^EPERM done\nEPERM EPERM\nEPERM$/, changes: ["the stranger's processors"], gap: lessTime },
        },
      },
      unconfined: { says: /^done done\ndone done\ndone$/, changes: ["the stranger's priority"] },
    },
    {
      that: "nor by being named as a group or as a user",
      // The priority that they have already: nothing would change where this was let through.
      run: python`
print(tried(os.setpriority, os.PRIO_PGRP, STRANGER, 0), tried(os.setpriority, os.PRIO_USER, os.getuid(), 0))`,
      confined: { says: /^ESRCH EPERM$/ },
      in: {
        // There are only one's own.
        bwrap: { says: /^ESRCH done$/ },
        landlock: { says: /^EPERM EPERM$/ },
      },
    },
    {
      that: "nobody else is chosen to be killed when memory is short",
      run: 'echo 500 > "/proc/$STRANGER/oom_score_adj"',
      confined: { says: /No such file or directory$/, exit: 1 },
      in: { landlock: { says: /Permission denied$/, exit: 1 } },
      unconfined: { says: /^$/, changes: ["the stranger's score"] },
    },
    {
      that: "no program can set its own limits free again",
      run: python`
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
try: resource.setrlimit(resource.RLIMIT_NPROC, (hard + 1, hard + 1)); print("done")
except (OSError, ValueError) as error: print("refused")`,
      confined: { says: /^refused$/ },
    },
    {
      that: "no program takes off the mark by which koda finds what a command leaves behind",
      run: python`
import resource
before = resource.getrlimit(15)
other = struct.pack("QQ", 1, before[1] & (1 << 64) - 1)
# An address whose lower half is zero, and so looks like none to who reads only that.
place = 1 << 32
libc.mmap.restype = ctypes.c_long
libc.mmap(ctypes.c_long(place), ctypes.c_long(4096), 3, 0x100022, -1, ctypes.c_long(0))
ctypes.memmove(place, other, 16)
print(tried(call, "prlimit64", 0, 15, other, 0), tried(call, "setrlimit", 15, other), tried(call, "prlimit64", 0, 15, place, 0))
print(resource.getrlimit(15) == before)`,
      confined: { says: /^EPERM EPERM EPERM\nTrue$/ },
      unconfined: { says: /^done done done\nFalse$/ },
    },
    {
      that: "no program that crashes starts the machine's handler of crashes, and none minds",
      // One byte: the kernel starts no handler for it. Where the hard limit is lower from the start, it stays.
      run: python`
import resource
print(tried(resource.setrlimit, 4, (0, 0)), tried(call, "prlimit64", 0, 4, struct.pack("QQ", 0, 0), bytes(16)))
print(resource.getrlimit(4))`,
      confined: { says: /^done EPERM\n\(1, 1\)$/ },
      unconfined: { says: /^done done\n\(0, 0\)$/ },
    },
    {
      that: "everybody is oneself: kill -1 ends one's own processes and nobody else",
      // Never where it would mean the machine: the numbers are looked at first.
      run: `sleep 60 & [ "$(cut -d' ' -f1 < /proc/self/stat)" -lt 100 ] && [ ! -e "/proc/$KODA" ] && kill -TERM -1 || kill $!; wait; echo over`,
      confined: { says: /over$/ },
    },
  ],
};
