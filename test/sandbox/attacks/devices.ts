import { python, type Table } from "../../support/attempts.ts";

const absent =
  "core sda vda nvme0n1 loop0 loop-control mem port kmsg fuse kvm console tty0 tty1 input net/tun vhost-net mapper/control dri hwrng rtc0 uinput snd ppp";

export const devices: Table = {
  about: "devices and terminals",
  attempts: [
    {
      that: "the only devices are those that hold nothing",
      run: "ls -A /dev; ls -A /dev/pts",
      confined: {
        // One that leads to /proc/kcore is bwrap's own, and leads nowhere.
        says: /^(core\n)?fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\nptmx$/,
      },
      in: { landlock: { says: /null/ } },
    },
    {
      that: "no disk, memory or machine can be opened",
      run: python`
print({tried(lambda: os.close(os.open("/dev/" + name, how | os.O_NONBLOCK))) for name in "${absent}".split() for how in (os.O_RDONLY, os.O_WRONLY)})`,
      confined: { says: /^\{('(ENOENT|EACCES|EPERM)'(, )?)+\}$/ },
      in: { landlock: { says: /^\{('(ENOENT|EACCES)'(, )?)+\}$/ } },
    },
    {
      that: "no device can be made",
      run: python`
for kind, device in ((0o060000, os.makedev(254, 0)), (0o020000, os.makedev(1, 1))):
    for directory in (P, TMP): print(tried(os.mknod, directory + "/device", kind | 0o600, device), end=" ")`,
      confined: { says: /^(EPERM ?|EACCES ?){4}$/ },
      unconfined: { says: /^done done EEXIST EEXIST$/, only: "root" },
    },
    {
      that: "a device that lies in the project opens nothing",
      run: 'mknod src/null c 1 3 2> /dev/null; echo x > src/null && [ -f src/null ] && echo "a plain file"',
      confined: { says: /^a plain file$/ },
    },
    {
      that: "nobody types into a terminal: into one's own or into the stranger's",
      run: python`
import pty
mine, side = os.openpty()
for request in (0x5412, 0x541c, 0x541d): print(tried(fcntl.ioctl, side, request, b"x"), end=" ")
print(tried(fcntl.ioctl, side, 0x5423, struct.pack("i", 1)))
print(writes(E["TERMINAL"], os.O_RDWR | os.O_NOCTTY) if E["TERMINAL"] != os.ttyname(side) else "ENOENT")`,
      confined: { says: /^EPERM EPERM EPERM EPERM\nENOENT$/ },
      in: { landlock: { says: /PermissionError|EACCES/, exit: 1, gap: /pseudo-terminals/ } },
    },
    {
      that: "the stranger's terminal is not there to be written to",
      run: 'echo x > "$TERMINAL"',
      confined: { says: /(Permission denied|No such file or directory|Read-only file system)$/, exit: 1 },
    },
    {
      that: "there is no terminal that one was started from",
      run: "echo x > /dev/tty; tty; stty -F /dev/tty",
      confined: { says: /^not a tty\n.*No such device or address\n.*No such device or address$/, exit: 1 },
    },
    {
      that: "a terminal of one's own is to be had",
      run: "script -qec 'tty && stty size && echo here' /dev/null",
      needs: ["script"],
      confined: { says: /^\/dev\/pts\/0\s+\d+ \d+\s+here$/ },
      in: { landlock: { says: /./, exit: 1, gap: /pseudo-terminals/ } },
    },
  ],
};
