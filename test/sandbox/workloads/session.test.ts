import { describe, expect, test } from "bun:test";
import { makePlace } from "../../support/place.ts";
import { python } from "../../support/stranger.ts";
import { openTier, type TierName, users, whyMissing } from "../../support/tiers.ts";

const server = `
import socket, threading
def serve(s):
    s.listen()
    print("listening", flush=True)
    while True: s.accept()[0].send(b"served")
tcp = socket.socket(); tcp.bind(("127.0.0.1", 8123))
near = socket.socket(socket.AF_UNIX); near.bind("server")
threading.Thread(target=serve, args=(near,)).start()
serve(tcp)`;

const client = `
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", 8123)), (socket.AF_UNIX, "server")):
    s = socket.socket(family); s.connect(address); print(s.recv(16).decode())`;

const withNetworks: readonly TierName[] = ["namespaces", "bwrap"];

for (const { name, user } of withNetworks.flatMap((name) => users.map((user) => ({ name, user })))) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere, { user });
  describe.skipIf(missing !== undefined)(`${name}, as ${user}${missing === undefined ? "" : ` (${missing})`}`, () => {
    test("a server that one command has started is reached by the next, and by nobody else", async () => {
      await using place = makePlace({}, "/var/tmp");
      await using tier = await openTier(name, place, { user });
      const serving = tier.start([python, "-IS", "-c", server]);
      await serving.prints(/(listening\s+){2}/);
      const asked = await tier.run([python, "-IS", "-c", client]);
      if (name === "bwrap") expect(tier.backend.notes.join("\n")).toMatch(/do not reach each other's servers/);
      else expect(asked).toMatchObject({ exit: 0, stdout: "served\nserved\n" });
      await expect(Bun.connect({ hostname: "127.0.0.1", port: 8123, socket: { data() {} } })).rejects.toThrow();
      await serving.stop();
    });

    test("two sessions have networks of their own", async () => {
      await using place = makePlace({}, "/var/tmp");
      await using one = await openTier(name, place, { user });
      await using other = await openTier(name, place, { user });
      const program =
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', 8123)); s.listen(); print('bound', flush=True); s.accept()";
      const both = [one, other].map((tier) => tier.start([python, "-IS", "-c", program]));
      await Promise.all(both.map((each) => each.prints(/bound/)));
      await Promise.all(both.map((each) => each.stop()));
    });

    test("files that one command leaves are there for the next, temporary ones too", async () => {
      await using place = makePlace();
      await using tier = await openTier(name, place, { user });
      await tier.run('echo kept > "$TMPDIR/kept"; echo kept > kept');
      expect(await tier.run('cat "$TMPDIR/kept" kept')).toMatchObject({ exit: 0, stdout: "kept\nkept\n" });
    });
  });
}
