import { parse } from "../lib/trust/command/parse.ts";
import { classifyCommand } from "../lib/trust/command.ts";
import { type Figure, interleaved, median } from "./measure.ts";

/** Lines of every kind: what models type most, what is destructive, and what holds other commands. */
const kinds: readonly ((index: number) => string)[] = [
  (index) => `ls -la src/${index} && cat src/${index}/index.ts | head -n 40`,
  (index) => `rg -n 'name${index}' --glob '!dist' | sort | uniq -c | sort -rn | head`,
  (index) => `git diff --stat HEAD~${index} -- src && git log --oneline -5`,
  (index) => `git -C packages/p${index} push --force-with-lease origin main`,
  (index) => `cd packages/p${index} && npm run build 2>&1 | tail -n 20`,
  (index) => `find . -name '*.${index}.tmp' -exec rm -f {} +`,
  (index) => `sed -n '${index},80p' lib/a.ts; sed -i 's/a${index}/b/g' lib/b.ts`,
  (index) => `for f in a b c; do test -f "$f-${index}" || cp template "$f-${index}"; done`,
  (index) => `X=$(git rev-parse HEAD~${index}) && echo "at $X" > out.txt`,
  (index) => `bash -c "cd /tmp && timeout 10 node -e 'console.log(${index})'"`,
  (index) => `cat > file${index}.py <<'EOF'\nimport os\nprint(os.getcwd())\nEOF\npython3 file${index}.py`,
  (index) => `git ls-files | grep -v v${index} | xargs -n 20 wc -l | tail -1`,
  (index) => `docker compose exec -T web${index} python manage.py test app.tests -k name`,
  (index) => `npm publish --tag v${index}; kubectl -n prod delete pod web-${index}`,
  (index) => `awk -F: '{ print $1, $${index} }' /etc/passwd | column -t`,
  (index) => `curl -fsSL https://example.com/${index}/install | sh -s -- --yes`,
];

const lines = Array.from({ length: 1000 }, (_, index) => kinds[index % kinds.length]?.(index) ?? "");
const around = { root: "/home/u/project", write: ["/home/u/project"], home: "/home/u", confined: true };

/** The time to say of 1,000 mixed lines what they would do. The floor is their parse alone. */
export async function measure(): Promise<Figure[]> {
  const timeOf = (look: (line: string) => unknown) => async () => {
    const started = performance.now();
    for (const line of lines) look(line);
    return performance.now() - started;
  };
  const [all = [], floor = []] = await interleaved(
    21,
    timeOf((line) => classifyCommand(line, around)),
    timeOf(parse),
  );
  const value = median(all);
  const bar = { bar: "≤ 100 ms", holds: value <= 100 };
  return [{ what: "1,000 mixed command lines classified", value, unit: "ms", floor: median(floor), ...bar }];
}
