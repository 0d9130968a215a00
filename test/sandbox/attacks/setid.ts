import { type Attempt, python, type Table } from "../../support/attempts.ts";

/** Each would leave a program behind that gives its caller somebody else's rights. */
const shell: Record<string, string> = {
  "changing its mode": "cp /bin/true s && chmod u+s s",
  "changing its group's mode": "cp /bin/true s && chmod g+s s",
  "installing it": "install -m 4755 /bin/true s",
  "copying one with its mode": 'cp -p "$OUT/setuid" s',
  "linking one": 'ln "$OUT/setuid" s',
  "moving one": 'mv "$OUT/setuid" s',
};

const made = "find . -perm /6000 -type f | grep -q . && echo made";

const calls: Record<string, string> = {
  open: 'os.close(os.open("s", os.O_CREAT | os.O_WRONLY, 0o4755))',
  creat:
    'call("creat", b"s", 0o4755) if SYS["creat"] > 0 else os.close(os.open("s", os.O_CREAT | os.O_WRONLY, 0o4755))',
  mknod: 'os.mknod("m", 0o104755)',
  fchmod: 'os.fchmod(os.open("src/file", os.O_RDONLY), 0o4755)',
  fchmodat: 'call("fchmodat", -100, b"src/file", 0o2755)',
  fchmodat2: 'call("fchmodat2", -100, b"src/file", 0o6755, 0)',
  "a file without a name": 'os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755))',
};

const everyCall: readonly Attempt[] = Object.entries(calls).map(([name, action]) => ({
  that: `no program is left behind that gives rights, by ${name}`,
  run: python`
def act(): ${action}
print(tried(act))`,
  confined: { says: /^EPERM$/ },
  unconfined: { says: /^(done|ENOSYS)$/ },
}));

export const setid: Table = {
  about: "programs with rights",
  attempts: [
    ...Object.entries(shell).map(([name, run]): Attempt => ({
      that: `no program is left behind that gives rights, by ${name}`,
      run: `rm -f s; ${run} 2> /dev/null; ${made}`,
      confined: { says: /^$/, exit: 1 },
      unconfined: {
        says: /^made$/,
        ...(name === "linking one" || name === "moving one" ? { changes: ["outside/setuid"] } : {}),
      },
    })),
    ...everyCall,
    {
      that: "an archive's programs come without rights",
      run: python`
import io, tarfile
with tarfile.open("a.tar", "w") as archive:
    entry = tarfile.TarInfo("from-archive"); entry.mode = 0o4755; entry.size = 1
    archive.addfile(entry, io.BytesIO(b"x"))
os.system("tar -xpf a.tar 2> /dev/null")
print(oct(os.stat("from-archive").st_mode & 0o6000))`,
      confined: { says: /^0o0$/ },
      unconfined: { says: /^0o4000$/ },
    },
    {
      that: "the system's own programs give none",
      run: "chage -l nobody",
      needs: ["chage"],
      confined: {
        // Whoever owns the file may read it.
        root: { says: /assword/ },
        nobody: { says: /Permission denied|cannot open/, exit: 1 },
      },
      unconfined: { says: /assword/, only: "nobody" },
    },
    {
      that: "nobody becomes another user through them, whatever is loaded into them",
      run: python`
import subprocess
for program in ("/usr/bin/su", "/usr/bin/newgrp", "/usr/bin/passwd"):
    if os.path.exists(program): subprocess.run([program, "--help"], env={"LD_PRELOAD": P + "/none.so"}, stdin=subprocess.DEVNULL, capture_output=True)
print(os.getresuid() == (os.getuid(),) * 3, libc.prctl(39, 0, 0, 0, 0))`,
      confined: { says: /^True 1$/ },
      unconfined: { says: /^True 0$/ },
    },
  ],
};
