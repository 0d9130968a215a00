import { python, type Table } from "../../support/attempts.ts";

/** Ways to whoever listens outside; the stranger does, at every kind of address. */
export const sockets: Table = {
  about: "sockets",
  attempts: [
    {
      that: "a socket outside is not reached: by its name, a link, a relative name, or a directory that was opened",
      run: python`
def reach(path): return connects(socket.socket(socket.AF_UNIX), path)
os.symlink(OUT + "/socket", "link"); os.symlink(OUT, "where")
print(reach(OUT + "/socket"), reach("link"), reach("where/socket"), reach("../outside/socket"))
there = os.open(OUT, os.O_PATH); os.fchdir(there)
print(reach("socket"), reach(f"/proc/self/fd/{there}/socket"), reach(f"/proc/self/cwd/socket"))`,
      confined: { says: /^EACCES EACCES EACCES EACCES\nEACCES EACCES EACCES$/ },
      in: { landlock: { says: /^(E\w+ ?){4}\n(E\w+ ?){3}$|PermissionError|not supported/ } },
      unconfined: { says: /^reached reached reached reached\nreached reached reached$/ },
    },
    {
      that: "a socket in the project is reached where a command listens, and says nothing to anybody else who does",
      run: python`
import threading
def says(s, path):
    def hurry():
        while s.fileno() >= 0 and tried(s.send, b"run this") != "done": pass
    threading.Thread(target=hurry, daemon=True).start()
    reached = tried(s.connect, path)
    answer = reached if reached != "done" else s.recv(16).decode()
    s.close()
    return answer
def serve(path):
    server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
    # As daemons do: who began to listen is gone.
    if os.fork() == 0:
        os.setsid()
        for _ in range(2):
            peer, _ = server.accept(); peer.recv(16); peer.send(b"own"); peer.close()
        os._exit(0)
    os._exit(0)
first = os.fork()
if first == 0: serve("own")
os.waitpid(first, 0)
print([says(socket.socket(socket.AF_UNIX), path) for path in ("own", P + "/own")])
print({says(socket.socket(socket.AF_UNIX), path) for path in ("served", P + "/served") for _ in range(20)})`,
      confined: { says: /^\['own', 'own'\]\n\{'EACCES'\}$/ },
      unconfined: { says: /^\['own', 'own'\]\n\{'reached'\}$/ },
    },
    {
      that: "nor one that keeps messages apart",
      run: python`print(connects(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), OUT + "/messages"))`,
      confined: { says: /^EACCES$/ },
      unconfined: { says: /^reached$/ },
    },
    {
      that: "nor by datagrams, of which there are none: not by a pair, not raw, not with an address in the message",
      run: python`
print(tried(socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM), tried(socket.socket, socket.AF_UNIX, socket.SOCK_RAW))
print(tried(socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM), tried(socket.socketpair, socket.AF_UNIX, socket.SOCK_RAW))
near, far = socket.socketpair()
print(tried(near.sendto, b"x", OUT + "/datagrams"), tried(near.sendmsg, [b"x"], [], 0, OUT + "/datagrams"))`,
      confined: { says: /^EAFNOSUPPORT EAFNOSUPPORT\nEPERM EPERM\nEISCONN EISCONN$/ },
      in: { landlock: { says: /^EAFNOSUPPORT EAFNOSUPPORT\nEPERM EPERM\n(EISCONN|EOPNOTSUPP) (EISCONN|EOPNOTSUPP)$/ } },
    },
    {
      that: "a pair is not connected anew",
      run: python`
near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
print(tried(near.connect, OUT + "/socket"))
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
print(tried(pair[0].connect, OUT + "/messages"))`,
      confined: { says: /^(EISCONN|EACCES)\n(EISCONN|EACCES)$/ },
    },
    {
      that: "a name without a file leads nowhere",
      run: python`print(connects(socket.socket(socket.AF_UNIX), "\0" + E["NAME"]))`,
      confined: { says: /^ECONNREFUSED$/ },
      in: { landlock: { says: /^EACCES$/ } },
      unconfined: { says: /^reached$/ },
    },
    {
      that: "the stranger's port leads nowhere, at any address of this machine",
      run: python`
for family, host in ((2, "127.0.0.1"), (2, "127.0.0.2"), (2, "0.0.0.0"), (10, "::1"), (10, "::ffff:127.0.0.1"), (10, "::")):
    print(connects(socket.socket(family), (host, PORT)), end=" ")`,
      confined: { says: /^(ECONNREFUSED ?|ENETUNREACH ?|EADDRNOTAVAIL ?){6}$/ },
      in: { landlock: { says: /^(EACCES ?){6}$/ } },
      unconfined: { says: /^reached (reached|ECONNREFUSED) reached / },
    },
    {
      that: "no address beyond this machine is reached",
      // Addresses for documentation: nobody has them.
      run: python`
for family, host in ((2, "192.0.2.1"), (2, "203.0.113.1"), (10, "2001:db8::1"), (2, "169.254.169.254")):
    with socket.socket(family) as s:
        s.settimeout(5); print(connects(s, (host, 80)), end=" ")`,
      confined: { says: /^(ENETUNREACH ?|EADDRNOTAVAIL ?){4}$/ },
      in: { landlock: { says: /^(EACCES ?){4}$/ } },
    },
    {
      that: "a socket that does not wait, and an option to send at once, change nothing",
      run: python`
with socket.socket() as s:
    s.settimeout(10); print(connects(s, ("127.0.0.1", PORT)))
with socket.socket() as s:
    print(tried(s.setsockopt, 6, 30, 1), connects(s, ("127.0.0.1", PORT)))`,
      confined: { says: /^(ECONNREFUSED|EACCES)\n(done|EPERM|EOPNOTSUPP) (ECONNREFUSED|EACCES)$/ },
    },
    {
      that: "a first packet that already says something is refused, in every call that could send it",
      run: python`
there = ("127.0.0.1", PORT)
print(tried(socket.socket().sendto, b"x", 0x20000000, there), tried(socket.socket().sendmsg, [b"x"], [], 0x20000000, there))
print(tried(call, "sendmmsg", socket.socket().fileno(), 0, 0, 0x20000000), tried(socket.socket(10).sendto, b"x", 0x20000000, ("::1", PORT)))`,
      confined: { says: /^EPERM EPERM\nEPERM EPERM$/ },
    },
    {
      that: "there are no other families: packets, machines, drivers, buses, the kernel's own",
      run: python`
kinds = [(17, 3, 768), (40, 1, 0), (31, 3, 1), (29, 3, 1), (38, 5, 0), (44, 3, 0), (15, 3, 2), (21, 5, 0), (30, 1, 0), (39, 1, 0), (16, 3, 15), (16, 3, 9), (16, 3, 6), (16, 3, 12)]
print({tried(socket.socket, *kind) for kind in kinds})
print({tried(socket.socket, 2, kind, protocol) for kind, protocol in ((3, 1), (3, 255), (2, 0), (2, 1), (5, 132))})
print({tried(socket.socket, 2, 1, protocol) for protocol in (132, 262, 33, 1)})`,
      confined: { says: /^\{'EAFNOSUPPORT'\}\n\{'EPERM'\}\n\{'EPROTONOSUPPORT'\}$/ },
    },
    {
      that: "the routes and the addresses of the network stay as they are",
      run: python`
s = socket.socket(16, 3, 0); s.bind((0, 0))
# RTM_NEWLINK for the loopback with an acknowledgement: it would only say again that it is up.
s.send(struct.pack("IHHIIBxHiII", 32, 16, 5, 1, 0, 0, 0, 1, 1, 1))
print(struct.unpack_from("i", s.recv(4096), 16)[0])`,
      confined: { says: /^-1$/ },
      unconfined: { says: /^0$/, only: "root" },
    },
    {
      that: "whoever answers about connections is not to be had in its place",
      run: python`
print(tried(call, "seccomp", 1, 8, struct.pack("HxxxxxxQ", 0, 0)), os.path.exists("/proc/self/fd/5"))`,
      confined: { says: /^EPERM False$/ },
    },
    {
      that: "no descriptor is passed through a socket that is not one's own",
      run: python`
import array
near, far = socket.socketpair()
near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.open(H + "/.bashrc", os.O_RDONLY)]))])
got = array.array("i"); got.frombytes(far.recvmsg(1, 64)[1][0][2][:4])
print(tried(os.write, got[0], b"x"), writes(f"/proc/self/fd/{got[0]}"))`,
      confined: { says: /^EBADF EROFS$/ },
      in: { landlock: { says: /^EBADF EACCES$/ } },
    },
  ],
};
