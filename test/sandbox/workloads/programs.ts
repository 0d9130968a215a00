import { type Attempt, python, type Table } from "../../support/attempts.ts";

const ownServers = /run servers over TCP/;
const noSemaphores = /no POSIX semaphores/;

type Work = Pick<Attempt, "run" | "in"> & { says: RegExp };

/** What programs ask of the system that a sandbox may easily have broken. */
const work: Record<string, Work> = {
  "a pool of processes computes": {
    run: python`
sys.path[:0] = []
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool: print(sum(pool.map(abs, range(-10, 0))))`,
    in: { landlock: { says: /Error/, exit: 1, gap: noSemaphores } },
    says: /^55$/,
  },
  "processes share a queue, a lock and memory": {
    run: python`
import multiprocessing
from multiprocessing import shared_memory
context = multiprocessing.get_context("fork")
queue, lock, memory = context.Queue(), context.Lock(), shared_memory.SharedMemory(create=True, size=64)
def work():
    with lock: memory.buf[0] = 7
    queue.put("done")
process = context.Process(target=work); process.start()
print(queue.get(), memory.buf[0]); process.join(); memory.close(); memory.unlink()`,
    in: { landlock: { says: /Error/, exit: 1, gap: noSemaphores } },
    says: /^done 7$/,
  },
  "threads run": {
    run: python`
import threading
done = []
threads = [threading.Thread(target=done.append, args=(n,)) for n in range(50)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done))`,
    says: /^50$/,
  },
  "a server of one's own is asked": {
    run: python`
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
server.RequestHandlerClass.log_message = lambda *_: None
threading.Thread(target=server.serve_forever, daemon=True).start()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(opener.open(f"http://127.0.0.1:{server.server_port}/src/file").status)`,
    in: { landlock: { says: /Error/, exit: 1, gap: ownServers } },
    says: /^200$/,
  },
  "so is one at the other address of this machine, and by its name": {
    run: python`
for family, host in ((socket.AF_INET, "localhost"), (socket.AF_INET6, "::1")):
    server = socket.socket(family); server.bind((host, 0)); server.listen()
    client = socket.create_connection((host, server.getsockname()[1]), 5); server.accept()[0].send(b"own"); print(client.recv(3).decode())`,
    in: { landlock: { says: /Error/, exit: 1, gap: ownServers } },
    says: /^own\nown$/,
  },
  "sockets in the project and among the temporary files are connected to": {
    run: python`
for path in (P + "/s", TMP + "/s", "relative"):
    server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(path); server.accept()[0].send(b"own"); print(client.recv(3).decode())`,
    says: /^own\nown\nown$/,
  },
  "pairs of sockets talk, and pass files": {
    run: python`
import array
near, far = socket.socketpair()
near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.open("src/file", os.O_RDONLY)]))])
data, rights, _, _ = far.recvmsg(1, 64)
print(os.read(array.array("i", rights[0][2][:4])[0], 3).decode())`,
    says: /^the$/,
  },
  "events are waited for: timers, signals, files, processes": {
    run: python`
import select
poll = select.epoll(); near, far = os.pipe(); poll.register(near, select.EPOLLIN); os.write(far, b"x")
print(len(poll.poll(5)))
child = os.fork()
if child == 0: os._exit(3)
handle = os.pidfd_open(child); select.select([handle], [], [], 5); print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
signal.signal(signal.SIGALRM, lambda *_: print("alarm")); signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()
watch = libc.inotify_init(); libc.inotify_add_watch(watch, P.encode(), 0x100); open("new", "w").close(); print(len(os.read(watch, 100)) > 0)`,
    says: /^1\n3\nalarm\nTrue$/,
  },
  "memory is mapped, also from a file, and a program may write programs": {
    run: python`
import mmap
with open("map", "wb+") as f:
    f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); m[0:3] = b"yes"; m.flush()
print(open("map", "rb").read(3).decode()); mmap.mmap(-1, 4096, prot=7); print(os.write(os.memfd_create("m"), b"x"))`,
    says: /^yes\n1$/,
  },
  "a terminal of one's own": {
    run: python`
import pty
child, terminal = pty.fork()
if child == 0: os.execvp("sh", ["sh", "-c", "[ -t 0 ] && echo a terminal; stty size > /dev/null && echo of some size"])
out = b""
while True:
    try: piece = os.read(terminal, 100)
    except OSError: break
    if not piece: break
    out += piece
print(out.decode().split())`,
    in: { landlock: { says: /Error/, exit: 1, gap: /pseudo-terminals/ } },
    says: /^\['a', 'terminal', 'of', 'some', 'size'\]$/,
  },
  "names of this machine are looked up": {
    run: python`print(socket.getaddrinfo("localhost", 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0], socket.gethostname() != "")`,
    says: /^127.0.0.1 True$/,
  },
  "files are copied within the kernel, and given room": {
    run: python`
import shutil
with open("big", "wb") as f: f.write(os.urandom(100000)); os.posix_fallocate(f.fileno(), 0, 200000)
shutil.copyfile("big", "copy"); source, target = os.open("big", os.O_RDONLY), os.open("other", os.O_CREAT | os.O_WRONLY)
print(os.copy_file_range(source, target, 1000), os.path.getsize("copy"), tried(os.setxattr, "copy", "user.x", b"y") in ("done", "EOPNOTSUPP"))`,
    says: /^1000 200000 True$/,
  },
  "two can agree on who is first": {
    run: python`
first = open("lock", "w"); fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
print(tried(fcntl.flock, open("lock"), fcntl.LOCK_EX | fcntl.LOCK_NB)); fcntl.lockf(open("other", "w"), fcntl.LOCK_EX)`,
    says: /^EAGAIN$/,
  },
};

export const programs: Table = {
  about: "programs",
  attempts: Object.entries(work).map(([that, { says, ...rest }]): Attempt => ({
    that,
    ...rest,
    confined: { says },
    unconfined: { says },
  })),
};
