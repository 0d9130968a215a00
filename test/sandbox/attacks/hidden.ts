import { type Attempt, python, type Table } from "../../support/attempts.ts";

/** Ways to a secret, each a shell command that would print it. */
const ways: Record<string, string> = {
  "its name": 'cat "$H/.ssh/id"',
  "a name that goes round": 'cat "$H/code/../.ssh/../.ssh/./id"',
  "a relative name": 'cd "$H" && cat .ssh/id',
  "a symlink": 'ln -sfn "$H/.ssh" src/s && cat src/s/id',
  "a copy of the home": 'cp -r "$H" src/copy; cat src/copy/.ssh/id',
  "an archive": 'tar -C "$H" -cf - .ssh | tar -xO',
  "a link to the file": 'ln "$H/.ssh/id" src/hard && cat src/hard',
  "another process": 'sh -c "cat $H/.ssh/id" & wait $!',
  "/proc": 'cat "/proc/self/root$H/.ssh/id"',
  git: 'git diff --no-index /dev/null "$H/.ssh/id"',
  "a search": 'grep -r . "$H/.ssh"',
  "all of them": 'cat "$H"/.*/*',
};

const everyWay: readonly Attempt[] = Object.entries(ways).map(([name, run]) => ({
  that: `no secret is read by ${name}`,
  run: `( ${run} ) 2>&1 | grep -c secret`,
  confined: { says: /^0$/, exit: 1 },
  unconfined: { says: /^[1-9]$/, ...(name === "a link to the file" && { changes: ["home/.ssh/id"] }) },
}));

export const hidden: Table = {
  about: "what is hidden",
  attempts: [
    ...everyWay,
    {
      that: "of a hidden directory not even a name is seen",
      run: 'ls -A "$H/.ssh" "$H/.local/koda"; find "$H" -name id -o -name koda.db',
      confined: { says: /^ls: .*Permission denied\nls: .*Permission denied\nfind: .*\nfind: .*$/, exit: 1 },
      in: { landlock: { says: /\/id\n/, gap: /names and sizes of hidden files/ } },
      unconfined: { says: /\/id\n/ },
    },
    {
      that: "whoever owns a hidden directory cannot open it up",
      run: 'chmod 777 "$H/.ssh"; cat "$H/.ssh/id"',
      confined: { says: /Read-only file system\n.*Permission denied$/, exit: 1 },
      in: { landlock: { says: /Permission denied$/, exit: 1, changes: ["home/.ssh"], gap: /mode/ } },
    },
    {
      that: "nothing is put where it is hidden",
      run: 'echo x > "$H/.ssh/authorized_keys"; mkdir "$H/.aws"; echo x > "$H/.local/koda/koda.db"',
      confined: { says: /Permission denied\n.*Read-only file system\n.*Permission denied$/, exit: 1 },
      in: { landlock: { says: /Permission denied\n.*Permission denied\n.*Permission denied$/, exit: 1 } },
      unconfined: { says: /^$/, changes: ["home/.ssh/authorized_keys", "home/.aws", "home/.local/koda/koda.db"] },
    },
    {
      that: "the sockets of the system's services are not even seen",
      run: "ls /run 2>&1 | head -n1",
      confined: { says: /Permission denied$/ },
      in: { landlock: { says: /^\S*$/, gap: /names and sizes of hidden files/ } },
    },
    {
      that: "temporary files of others are not seen",
      run: 'cat "/tmp/$NAME" "/dev/shm/$NAME"',
      confined: { says: /^cat: .*No such file or directory\ncat: .*No such file or directory$/, exit: 1 },
      in: {
        landlock: { says: /^cat: .*(Permission denied|No such file or directory)\ncat: .*Permission denied$/, exit: 1 },
      },
      unconfined: { says: /^secretsecret$/ },
    },
    {
      that: "one's own are not left to others",
      run: 'echo x > "$TMPDIR/own"; echo x > /dev/shm/own; ls "$TMPDIR/own" /dev/shm/own',
      confined: { says: /^\/dev\/shm\/own\n\/tmp\/own$/ },
      in: {
        landlock: {
          says: /shm\/own: Permission denied\n/,
          exit: 2,
          gap: /\/dev\/shm are closed/,
        },
      },
    },
    {
      that: "shared memory of others is not had by its number",
      run: python`
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(int(E["SHARED"]), None, 0)
print("refused" if place == ctypes.c_void_p(-1).value else ctypes.string_at(place, 6).decode())`,
      confined: { says: /^refused$/ },
      unconfined: { says: /^secret$/ },
    },
    {
      that: "nor a queue by its name",
      run: python`
queue = libc.mq_open(b"/" + E["NAME"].encode(), os.O_RDONLY)
print("refused" if queue == -1 else "opened")`,
      confined: { says: /^refused$/ },
      unconfined: { says: /^opened$/ },
    },
  ],
};
