import { python, type Table } from "../../support/attempts.ts";

/**
 * Calls with a history of ways into the kernel. Their arguments make no sense on purpose: where a call was let
 * through, it would only complain of them.
 */
const refused: Record<string, string> = {
  "io_uring_setup, 1, 0": "ENOSYS",
  "io_uring_enter, -1, 0, 0, 0, 0, 0": "ENOSYS",
  "io_uring_register, -1, 0, 0, 0": "ENOSYS",
  "userfaultfd, 0": "EPERM",
  "keyctl, 0, -3, 0": "EPERM",
  "add_key, 0, 0, 0, 0, 0": "EPERM",
  "request_key, 0, 0, 0, 0": "EPERM",
  "bpf, 0, 0, 0": "EPERM",
  "perf_event_open, 0, 0, -1, -1, 0": "EPERM",
  "init_module, 0, 0, 0": "EPERM",
  "finit_module, -1, 0, 0": "EPERM",
  "delete_module, 0, 0": "EPERM",
  "kexec_load, 0, 0x7fffffff, 0, 0": "EPERM",
  "kexec_file_load, -1, -1, 0, 0, 0": "EPERM",
  "reboot, 0, 0, 0, 0": "EPERM",
  "swapon, 0, 0": "EPERM",
  "swapoff, 0": "EPERM",
  "acct, 1": "EPERM",
  "quotactl, 0, 0, 0, 0": "EPERM",
  "sethostname, 1, 1": "EPERM",
  "setdomainname, 1, 1": "EPERM",
  "clock_settime, 0, 1": "EPERM",
  "clock_adjtime, 0, 1": "EPERM",
  "adjtimex, 1": "EPERM",
  "settimeofday, 1, 1": "EPERM",
  "syslog, 3, 0, 0": "EPERM",
  vhangup: "EPERM",
  "name_to_handle_at, -1, 0, 0, 0, 0": "EPERM",
  "open_by_handle_at, -1, 0, 0": "EPERM",
  "fanotify_init, 0, 0": "EPERM",
  "memfd_secret, 0": "EPERM",
  "seccomp, 1, 8, 0": "EPERM",
  "clone3, 0, 0": "ENOSYS",
  "openat2, -100, 0, 0, 0": "ENOSYS",
};

const [names, errors] = [Object.keys(refused), Object.values(refused)];
const calls = names.map((line) => line.replace(/^\w+/, (name) => `("${name}"`)).join("),\n ");

export const kernel: Table = {
  about: "the kernel",
  attempts: [
    {
      that: "the kernel's doors are shut: programs, keys, rings, modules, clocks, handles",
      run: python`
for name, *arguments in [${`${calls})`.replaceAll('")', '",)')}]: print(tried(call, name, *arguments))`,
      confined: { says: new RegExp(`^${errors.join("\\n")}$`) },
    },
    {
      that: "calls by their numbers of another kind of program are said not to exist",
      run: python`
libc.syscall(ctypes.c_long(0x40000000 + 39))
print(errno.errorcode[ctypes.get_errno()] if os.uname().machine == "x86_64" else "ENOSYS")`,
      confined: { says: /^ENOSYS$/ },
    },
    {
      that: "a program that calls as in 32 bits is ended",
      run: python`
import mmap
if os.uname().machine != "x86_64": os.kill(os.getpid(), signal.SIGSYS)
# mov eax, 20 (getpid); int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b814000000cd80c3"))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
print("was let through")`,
      confined: { says: /^$/, exit: 159 },
    },
    {
      that: "rights are not had back: neither a user, nor groups, nor capabilities, nor the right to gain any",
      run: python`
print(tried(os.setgroups, [0]), tried(call, "capset", struct.pack("II", 0x20080522, 0), bytes([255] * 24)))
print(libc.prctl(38, 0, 0, 0, 0), libc.prctl(47, 2, 21, 0, 0), libc.prctl(24, 0, 0, 0, 0), libc.prctl(28, 0, 0, 0, 0))`,
      confined: { says: /^EPERM EPERM\n-1 -1 -1 -1$/ },
    },
    {
      that: "user 0 is nobody's to become",
      run: python`print(tried(os.setresuid, 0, 0, 0) if os.getuid() else tried(os.setresuid, 1, 1, 1))`,
      confined: { says: /^(EPERM|EINVAL)$/ },
    },
    {
      that: "a Landlock of one's own does not replace the one that is there",
      run: python`
rules = call("landlock_create_ruleset", struct.pack("Q", 1 << 1), 8, 0)
print(tried(call, "landlock_restrict_self", rules, 0), writes(H + "/.bashrc"), writes(P + "/src/file"))`,
      confined: { says: /^done EROFS EACCES$/ },
      in: { landlock: { says: /^done EACCES EACCES$/ } },
    },
    {
      that: "a program in memory is confined like any other",
      run: python`
with open("/bin/sh", "rb") as f: shell = f.read()
memory = os.memfd_create("program", 0)
os.write(memory, shell)
os.execv(f"/proc/self/fd/{memory}", ["sh", "-c", 'echo runs; echo x > "$H/.bashrc"'])`,
      confined: { says: /^runs\n.*Read-only file system$/, exit: 2 },
      in: { landlock: { says: /^runs\n.*Permission denied$/, exit: 2 } },
      unconfined: { says: /^runs$/, changes: ["home/.bashrc"] },
    },
    {
      that: "a program by another name, or without an environment, is confined like any other",
      run: `(exec -a koda sh -c 'echo x > "$H/.bashrc"'); env -i H="$H" sh -c 'echo x > "$H/.bashrc"'; /lib64/ld-linux-x86-64.so.2 /bin/sh -c 'echo x > "$H/.bashrc"' || exit 2`,
      confined: { says: /^(.*(Read-only file system|No such file or directory)\n?){3}$/, exit: 2 },
      in: { landlock: { says: /^(.*(Permission denied|No such file or directory)\n?){3}$/, exit: 2 } },
    },
  ],
};
