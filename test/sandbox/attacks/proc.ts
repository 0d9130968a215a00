import { python, type Table } from "../../support/attempts.ts";

const files = ["mem", "environ", "root/", "cwd/", "exe", "fd/0", "maps", "ns/net", "syscall", "auxv", "pagemap", "io"];
const visible = /processes can be seen/;

/** What /proc shows of others, and of the program that confines. */
export const proc: Table = {
  about: "/proc",
  attempts: [
    ...files.map((file) => ({
      that: `of a process outside /proc shows no ${file}`,
      run: `cat "/proc/$STRANGER/${file}" | head -c 100`,
      confined: { says: /No such file or directory$/ },
      in: { landlock: { says: /(Permission denied|Operation not permitted)$/ } },
    })),
    {
      that: "of koda not even the command line is seen",
      run: 'tr "\\0" " " < "/proc/$KODA/cmdline"',
      confined: { says: /No such file or directory$/, exit: 1 },
      in: { landlock: { says: /bun/, gap: visible } },
      unconfined: { says: /bun/ },
    },
    {
      that: "the only processes to be seen are one's own",
      run: "echo /proc/[0-9]* | wc -w",
      confined: { says: /^[1-6]$/ },
      in: { landlock: { says: /^\d+$/, gap: visible } },
    },
    {
      that: "the first process shows nothing of where it came from",
      run: "cat /proc/1/environ; readlink /proc/1/exe; ls /proc/1/root/ /proc/1/cwd/; cat /proc/1/mem /proc/1/maps",
      confined: { says: /^(.*: Permission denied\n?){5,6}$/, exit: 1 },
      in: { landlock: { says: /Permission denied/, exit: 1 } },
    },
    {
      that: "the first process's program can neither be run again nor be written to",
      run: "/proc/1/exe /bin/sh -c 'echo again'; echo x > /proc/1/exe",
      confined: { says: /^(.*: Permission denied\n?){2}$/, exit: 1 },
    },
    {
      that: "whoever collects the dead is told no false status",
      run: "for f in 3 4 5 6 100 101; do printf aaaa > /proc/1/fd/$f; done 2>&1 | sort -u",
      confined: { says: /^(.*: (Permission denied|No such file or directory)\n?){6}$/ },
    },
    {
      that: "no user or group is mapped anew",
      run: python`
print(writes("/proc/self/uid_map"), writes("/proc/self/gid_map"), writes("/proc/self/setgroups"))`,
      confined: { says: /^(EROFS|EACCES) (EROFS|EACCES) (EROFS|EACCES)$/ },
    },
    {
      that: "not even one's own memory can be written through a file",
      run: python`print(writes("/proc/self/mem", os.O_RDWR), writes("/proc/self/oom_score_adj"), writes("/proc/self/coredump_filter"))`,
      confined: { says: /^EROFS EROFS EROFS$/ },
      in: { landlock: { says: /^EACCES EACCES EACCES$/ } },
    },
    {
      that: "where the kernel would look for a program of root's cannot be said",
      run: python`
for name in ("core_pattern", "modprobe", "hotplug", "usermodehelper/bset", "poweroff_cmd"): print(writes("/proc/sys/kernel/" + name))
for path in ("/proc/sysrq-trigger", "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/uevent_helper", "/sys/power/state"): print(writes(path))`,
      confined: { says: /^((EROFS|EACCES|ENOENT|EPERM)\n?){9}$/ },
      unconfined: { says: /^done\n/, only: "root" },
    },
    {
      that: "no setting of the kernel can be opened to be changed, of all that there are",
      run: python`
opened = []
for top in ("/proc/sys", "/sys/kernel", "/sys/module", "/sys/power"):
    for directory, _, names in os.walk(top):
        for name in names:
            path = os.path.join(directory, name)
            if not os.path.islink(path) and writes(path, os.O_WRONLY | os.O_NONBLOCK) == "done": opened.append(path)
print(opened)`,
      confined: { says: /^\[\]$/ },
    },
    {
      that: "control groups stay as they are",
      run: python`
import glob
groups = ["/sys/fs/cgroup", *glob.glob("/sys/fs/cgroup/*/")]
print({tried(os.mkdir, os.path.join(group, "koda-attack")) for group in groups})
print({writes(os.path.join(group, name)) for group in groups for name in ("cgroup.procs", "release_agent", "notify_on_release")})`,
      confined: { says: /^\{('(EROFS|EACCES|ENOENT)'(, )?)+\}\n\{('(EROFS|EACCES|ENOENT)'(, )?)+\}$/ },
    },
    {
      that: "links of /proc lead to nothing that may not be reached by name",
      run: `echo x > /proc/self/root"$H"/.bashrc; echo x > /proc/self/cwd/../home/.bashrc; cat /proc/self/root"$H"/.ssh/id`,
      confined: { says: /Read-only file system\n.*Read-only file system\n.*Permission denied$/, exit: 1 },
      in: { landlock: { says: /Permission denied\n.*Permission denied\n.*Permission denied$/, exit: 1 } },
    },
    {
      that: "what was opened to be read is not opened again to be written",
      run: 'exec 3< "$H/.bashrc"; echo x > /proc/self/fd/3; echo x > /dev/fd/3',
      confined: { says: /Read-only file system\n.*Read-only file system$/, exit: 1 },
      in: { landlock: { says: /Permission denied\n.*Permission denied$/, exit: 1 } },
      unconfined: { says: /^$/, changes: ["home/.bashrc"] },
    },
    {
      that: "nothing was left open: there is nobody to tell a false status",
      run: python`
print(sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)))
print([tried(os.write, number, bytes(4)) for number in (3, 4, 5, 6, 7, 100, 101)])`,
      confined: { says: /^\[0, 1, 2\]\n\[('EBADF'(, )?){7}\]$/ },
    },
    {
      that: "the environment holds nothing of koda's but its mark",
      run: "env | grep -v '^KODA_CALL=' | grep -c 'SECRET\\|KODA_\\|BUN_'",
      confined: { says: /^0$/, exit: 1 },
    },
  ],
};
