import { python, type Table } from "../../support/attempts.ts";

/** What could take away the floor that everything else stands on. Where it worked, it would only be within the sandbox. */
export const mounts: Table = {
  about: "mounts and namespaces",
  attempts: [
    {
      that: "nothing is mounted, in any of the ways of doing so",
      run: python`
d = TMP.encode()
print(tried(call, "mount", b"none", d, b"tmpfs", 0, 0), tried(call, "mount", d, d, 0, 4096, 0))
print(tried(call, "fsopen", b"tmpfs", 0), tried(call, "fsconfig", -1, 6, 0, 0, 0), tried(call, "fsmount", -1, 0, 0), tried(call, "fspick", -100, d, 0))
print(tried(call, "open_tree", -100, d, 1), tried(call, "move_mount", -100, d, -100, d, 0))`,
      confined: { says: /^EPERM EPERM\nEPERM EPERM EPERM EPERM\nEPERM EPERM$/ },
    },
    {
      that: "what is read-only stays so",
      run: python`
for path in (OUT, H, P + "/.git", "/", "/proc"):
    print(tried(call, "mount", 0, path.encode(), 0, 32 | 4096, 0), tried(call, "mount_setattr", -100, path.encode(), 0, struct.pack("4Q", 0, 1, 0, 0), 32))`,
      confined: { says: /^(EPERM EPERM\n?){5}$/ },
    },
    {
      that: "what is covered stays so",
      run: python`
for path in (H + "/.ssh", H + "/.netrc", "/tmp", "/run", "/dev", "/proc", P + "/.git"):
    print(tried(call, "umount2", path.encode(), 2), end=" ")
print(tried(os.rename, H + "/.ssh", TMP + "/ssh"), tried(os.rmdir, H + "/.ssh"), tried(os.unlink, H + "/.netrc"))`,
      confined: { says: /^(EPERM ){7}(EXDEV|EROFS|EBUSY) (EROFS|EBUSY) (EROFS|EBUSY)$/ },
      in: { landlock: { says: /^(EPERM ){7}(EXDEV|EACCES) EACCES EACCES$/ } },
    },
    {
      that: "there is no other root to go to",
      run: python`print(tried(os.chroot, P), tried(call, "pivot_root", P.encode(), P.encode()))`,
      confined: { says: /^EPERM EPERM$/ },
    },
    {
      that: "there is no namespace to make, of any kind",
      run: python`
kinds = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
print(*(tried(call, "unshare", kind) for kind in kinds))
print(*(tried(call, "clone", kind | 17, 0, 0, 0, 0) for kind in kinds[1:]))`,
      confined: { says: /^(EPERM ?){8}\n(EPERM ?){7}$/ },
    },
    {
      that: "there is no namespace to enter, koda's or one's own",
      run: python`
for path in (f"/proc/{KODA}/ns/mnt", "/proc/1/ns/mnt", "/proc/1/ns/user", "/proc/self/ns/user", "/proc/self/ns/mnt"):
    print(tried(lambda: call("setns", os.open(path, os.O_RDONLY), 0)), end=" ")
print(tried(lambda: call("setns", call("pidfd_open", os.getppid() or 1, 0), 0x20000)))`,
      confined: { says: /^ENOENT EACCES EACCES EPERM EPERM (EPERM|EACCES|EINVAL)$/ },
      in: { landlock: { says: /^EACCES EACCES EACCES EPERM EPERM (EPERM|EACCES|EINVAL)$/ } },
    },
    {
      that: "programs that do it for people fare no better",
      run: `unshare -Ur true; unshare -m true; nsenter -t 1 -m true; mount -t tmpfs none "$TMPDIR"; umount -l "$H/.ssh" || exit 1`,
      needs: ["unshare", "nsenter", "mount"],
      confined: {
        says: /^unshare: .*: Operation not permitted\nunshare: .*: Operation not permitted\nnsenter: .*(Permission denied|not permitted)\nmount: .*\n.*\numount: /,
        exit: 1,
      },
      in: { landlock: { says: /^unshare: .*\nunshare: .*\nnsenter: .*\nmount: .*\n[^]*umount: /, exit: 1 } },
    },
    {
      that: "the way out of many directories leads no further than the root",
      run: `cd src && for i in $(seq 100); do mkdir -p d && cd d || exit; done; cd "$(printf '../%.0s' $(seq 200))" && cd "..$H" 2>/dev/null; cd -P "$(printf '../%.0s' $(seq 200))$H" && echo x > .bashrc`,
      confined: { says: /Read-only file system$/, exit: 1 },
      in: { landlock: { says: /Permission denied$/, exit: 1 } },
      unconfined: { says: /^$/, changes: ["home/.bashrc"] },
    },
    {
      that: "a directory that is moved while one is in it is no way out",
      run: python`
os.makedirs(P + "/a/b/c"); os.mkdir(TMP + "/there"); os.chdir(P + "/a/b/c")
moved = tried(os.rename, P + "/a/b", TMP + "/there/b")
os.chdir("../../../../../../../../" + H.lstrip("/"))
print(moved, writes(".bashrc", os.O_WRONLY | os.O_APPEND))`,
      confined: { says: /^EXDEV EROFS$/ },
      in: { landlock: { says: /^done EACCES$/ } },
    },
  ],
};
