import { existsSync } from "node:fs";
import { asNobody } from "./nobody.ts";
import type { User } from "./tiers.ts";

/** The system's own rather than one that only its owner may run. */
export const python = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : (Bun.which("python3") ?? "python3");

/** Somebody else's program on the same machine: what commands must not reach, each thing by the name of a variable. */
export type Stranger = {
  pid: number;
  variables: Record<string, string>;
  /** Ends it; what it was reached through. */
  leave(): Promise<readonly string[]>;
};

/** It listens, in every way there is, to whoever comes; its files lie in `directory`. */
export async function strangerIn(directory: string, user: User): Promise<Stranger> {
  const child = Bun.spawn([...(user === "nobody" ? asNobody : []), python, "-IS", "-c", program, directory], {
    cwd: "/",
    env: { SECRET: "of a stranger" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = linesOf(child.stdout);
  const variables: Record<string, string> = JSON.parse(await lines());
  let left: Promise<readonly string[]> | undefined;
  return { pid: child.pid, variables, leave: async () => (left ??= leave()) };

  async function leave(): Promise<readonly string[]> {
    // It may have been stopped by who attacked it.
    child.kill("SIGCONT");
    await child.stdin.end();
    const heard: string[] = JSON.parse(await lines());
    await child.exited;
    return heard;
  }
}

function linesOf(stream: ReadableStream<Uint8Array>): () => Promise<string> {
  const reader = stream.getReader();
  let text = "";
  return async () => {
    while (!text.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) throw new Error("The stranger left without a word");
      text += Buffer.from(value).toString();
    }
    const end = text.indexOf("\n");
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    return line;
  };
}

/** Shared memory is removed at once: it is there for as long as it is attached, and never for longer. */
const program = `
import ctypes, json, os, select, socket, sys, tempfile
directory = sys.argv[1]
name = os.path.basename(os.path.dirname(directory))
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p

def server(family, kind, address):
    s = socket.socket(family, kind); s.bind(address); s.listen(); return s
def datagrams(family, address):
    s = socket.socket(family, socket.SOCK_DGRAM); s.bind(address); return s
at = lambda file: os.path.join(directory, file)
doors = {
    "tcp": server(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
    "udp": datagrams(socket.AF_INET, ("127.0.0.1", 0)),
    "socket": server(socket.AF_UNIX, socket.SOCK_STREAM, at("socket")),
    "messages": server(socket.AF_UNIX, socket.SOCK_SEQPACKET, at("messages")),
    "datagrams": datagrams(socket.AF_UNIX, at("datagrams")),
    "served": server(socket.AF_UNIX, socket.SOCK_STREAM, os.path.join(directory, "../project/served")),
    "abstract": server(socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + name),
}
terminal, side = os.openpty()
shared = libc.shmget(0, 4096, 0o1666)
place = libc.shmat(shared, None, 0)
ctypes.memmove(place, b"secret", 6)
libc.shmctl(shared, 0, None)
queue = libc.mq_open(b"/" + name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
files = [f"/dev/shm/{name}", os.path.join("/tmp", name)]
for file in files:
    with open(file, "w") as f: f.write("secret")
print(json.dumps({
    "STRANGER": str(os.getpid()), "NAME": name, "PORT": str(doors["tcp"].getsockname()[1]),
    "UDP": str(doors["udp"].getsockname()[1]), "TERMINAL": os.ttyname(side), "SHARED": str(shared),
}), flush=True)

heard = []
def answer(door):
    if door == "terminal":
        os.read(terminal, 4096)
    elif doors[door].type == socket.SOCK_DGRAM:
        doors[door].recv(4096)
    else:
        peer, _ = doors[door].accept()
        # Where commands may look for a server, only what they say to one counts.
        said = door != "served" or peer.recv(16)
        try: peer.send(b"reached")
        except OSError: pass
        peer.close()
        if not said: return
    heard.append(door)
handles = {s.fileno(): door for door, s in doors.items()} | {terminal: "terminal"}
leaving = False
while True:
    ready = select.select([*handles, *([] if leaving else [0])], [], [], 0 if leaving else None)[0]
    if not ready: break
    for handle in ready:
        if handle in handles: answer(handles[handle])
        else: leaving = True
libc.shmdt(ctypes.c_void_p(place))
libc.mq_unlink(b"/" + name.encode())
for file in files:
    if os.path.exists(file): os.unlink(file)
print(json.dumps(heard), flush=True)
`;
