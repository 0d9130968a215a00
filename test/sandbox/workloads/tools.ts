import { type Attempt, type Table } from "../../support/attempts.ts";

/** What developers' tools do all day. It works, and works the same without a sandbox. */
const work: readonly (Pick<Attempt, "that" | "run" | "needs" | "in"> & { says: RegExp })[] = [
  {
    that: "a program is compiled and run",
    run: `printf '#include <stdio.h>\\nint main(){puts("hello");}' > hello.c && cc -o hello hello.c && ./hello`,
    needs: ["cc"],
    says: /^hello$/,
  },
  {
    that: "make builds with several jobs, and builds nothing twice",
    run: `printf 'all: a b c\\na b c:\\n\\t@sleep 0; echo made > $@\\n' > Makefile && make -sj3 && make -q && cat a b c`,
    needs: ["make"],
    says: /^made\nmade\nmade$/,
  },
  {
    that: "npm installs from a directory, and runs a script",
    run: `mkdir -p dep app && echo '{"name":"dep","version":"1.0.0","main":"i.js"}' > dep/package.json && echo 'module.exports="from dep"' > dep/i.js &&
cd app && echo '{"name":"app","version":"1.0.0","scripts":{"start":"node -p \\"require(\\\\\\"dep\\\\\\")\\""},"dependencies":{"dep":"file:../dep"}}' > package.json &&
export npm_config_cache="$TMPDIR/npm" npm_config_update_notifier=false && npm install --offline --no-audit --no-fund --silent && npm start --silent`,
    needs: ["npm", "node"],
    says: /^from dep$/,
  },
  {
    that: "Node runs scripts, workers and children",
    run: `cat > w.js <<'END'
const { Worker, isMainThread, parentPort } = require("node:worker_threads");
if (isMainThread) {
  const { execSync } = require("node:child_process");
  const worker = new Worker(__filename);
  worker.on("message", (text) => { console.log(text, execSync("echo child").toString().trim()); });
} else parentPort.postMessage("worker");
END
node w.js`,
    needs: ["node"],
    says: /^worker child$/,
  },
  {
    that: "Python makes an environment and uses it",
    run: `/usr/bin/python3 -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'`,
    needs: ["python3"],
    says: /^True$/,
  },
  {
    that: "Python keeps a database",
    run: `/usr/bin/python3 -c 'import sqlite3
with sqlite3.connect("data.db") as db:
    db.execute("pragma journal_mode=wal"); db.execute("create table t(x)"); db.executemany("insert into t values (?)", [(n,) for n in range(1000)])
print(db.execute("select sum(x) from t").fetchone()[0])'`,
    needs: ["python3"],
    says: /^499500$/,
  },
  {
    that: "Perl runs",
    run: `perl -MFile::Temp=tempfile -e 'my ($f, $n) = tempfile(); print $f "x"; close $f; print -s $n'`,
    needs: ["perl"],
    says: /^1$/,
  },
  {
    that: "Java is compiled and run",
    run: `echo 'class H { public static void main(String[] a) throws Exception { var t = new Thread(() -> System.out.println("hello")); t.start(); t.join(); } }' > H.java && javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC H.java && java -Xshare:auto -XX:TieredStopAtLevel=1 H`,
    needs: ["javac", "java"],
    says: /^hello$/,
  },
  {
    that: "a server of one's own is asked by another program",
    run: `cat > server.js <<'END'
require("node:http").createServer((_, answer) => answer.end("served")).listen(0, "127.0.0.1", function () {
  require("node:fs").writeFileSync("port", String(this.address().port));
});
END
node server.js 2> /dev/null & until [ -s port ] || ! kill -0 $! 2> /dev/null; do sleep 0.02; done; curl -s --max-time 10 --noproxy '*' "http://127.0.0.1:$(cat port)/" || echo refused; kill $! 2> /dev/null; wait`,
    needs: ["node", "curl"],
    in: { landlock: { says: /^refused/, gap: /run servers over TCP/ } },
    says: /^served$/,
  },
  {
    that: "git makes a repository elsewhere in the project, and commits, branches and merges in it",
    run: `git init -qb main made && cd made && git config user.name a && git config user.email a@example.test &&
echo 1 > f && git add f && git commit -qm one && git switch -qc side && echo 2 > g && git add g && git commit -qm two &&
git switch -q main && echo 3 > h && git add h && git commit -qm three && git merge -q --no-edit side && git stash list && git log --format=%s | wc -l && git fsck && git gc -q`,
    needs: ["git"],
    says: /^4$/,
  },
  {
    that: "trees are copied and packed with all that belongs to them",
    run: `mkdir -p t/d && echo x > t/d/f && ln -s f t/d/l && ln t/d/f t/d/h && chmod 640 t/d/f && touch -d 2001-01-01 t/d/f &&
cp -a t copy && tar -cf t.tar t && mkdir out && tar -C out -xf t.tar && diff -r t copy && diff -r t out/t && stat -c '%a %h %Y' copy/d/f out/t/d/f | sort -u | wc -l`,
    says: /^1$/,
  },
];

export const tools: Table = {
  about: "tools",
  attempts: work.map(({ says, ...rest }): Attempt => ({ ...rest, confined: { says }, unconfined: { says } })),
};
