/**
 * An automounter in a mount namespace of the test's own, like the one that has `/net -hosts`: it prints each name that
 * it is asked for, which a real one would ask the network for. One directory is mounted already, `there`.
 */
import { python } from "./stranger.ts";

/** Runs a program in there; the result is what both have printed. */
export async function besideAutomounter(directory: string, command: readonly string[]): Promise<string> {
  const child = Bun.spawn([python, "-IS", "-c", automounter, directory, ...command], {
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return await child.stdout.text();
}

const automounter = `
import ctypes, fcntl, os, struct, subprocess, sys, threading
directory, command = sys.argv[1], sys.argv[2:]
libc = ctypes.CDLL(None, use_errno=True)
def must(result):
    if result != 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
CLONE_NEWNS, PRIVATE = 0x20000, 0x44000
must(libc.unshare(CLONE_NEWNS))
must(libc.mount(b"none", b"/", None, PRIVATE, None))
# Its own group may look up names without being sent to itself.
os.setpgid(0, 0)
asked, asks = os.pipe()
options = f"fd={asks},pgrp={os.getpgid(0)},minproto=5,maxproto=5,indirect"
must(libc.mount(b"koda-test", directory.encode(), b"autofs", 0, options.encode()))
os.mkdir(f"{directory}/there")
must(libc.mount(b"koda-test", f"{directory}/there".encode(), b"tmpfs", 0, b"mode=755"))
with open(f"{directory}/there/file", "w") as file: file.write("mounted\\n")
root = os.open(directory, os.O_RDONLY)
def answer():
    while packet := os.read(asked, 4096):
        token, = struct.unpack_from("I", packet, 8)
        length, = struct.unpack_from("I", packet, 40)
        print("asked for", packet[44:44 + length].decode(), flush=True)
        fcntl.ioctl(root, 0x9361, token)
threading.Thread(target=answer, daemon=True).start()
subprocess.run(command, start_new_session=True)
os.close(root)
libc.umount2(directory.encode(), 2)
`;
