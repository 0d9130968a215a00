import type { Claim } from "../claim.ts";
import { destructive, remote, together } from "./claims.ts";
import { parseOptions } from "./options.ts";
import { inDirectory } from "./output.ts";
import type { ProgramRule } from "./program.ts";
import type { ShellScope } from "./scope.ts";
import { writeTo, writeToAll } from "./targets.ts";
import { exact, type Text } from "./text.ts";

/**
 * Programs that move files between here and other machines: what they ask of the other side, and what they write
 * here.
 */
export const transfers: Readonly<Record<string, ProgramRule>> = {
  curl: ({ args, scope }) => {
    const { operands, values } = parseOptions(args, { takes: curlTakes });
    const urls = [...operands, ...values("--url")];
    const deletes = values("-X", "--request").some(({ head }) => head.toUpperCase() === "DELETE");
    if (deletes && !urls.every(isLoopback)) return destructive("curl -X DELETE");
    const files = values("-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header", "--trace", "--stderr");
    const directories = values("--output-dir").map(inDirectory);
    return together([remote, writeToAll([...files.filter(isFile), ...directories], scope)]);
  },
  wget: ({ args, scope }) => {
    const { values } = parseOptions(args, { takes: wgetTakes });
    const deletes = values("--method").some(({ head }) => head.toUpperCase() === "DELETE");
    if (deletes) return destructive("wget --method=DELETE");
    const files = values("-O", "--output-document", "-o", "--output-file", "-a", "--append-output").filter(isFile);
    const directories = values("-P", "--directory-prefix").map(inDirectory);
    return together([remote, writeToAll([...files, ...directories], scope)]);
  },
  scp: ({ args, scope }) => {
    const { operands } = parseOptions(args, { takes: "-c -D -F -i -J -l -o -P -S -X" });
    return together([remote, arrival(operands.at(-1), scope)]);
  },
  rsync: ({ args, scope }) => {
    const { operands, given } = parseOptions(args, {
      takes: "-e --rsh -f --filter --exclude --include --files-from -M",
    });
    const target = operands.at(-1);
    const isRemote = operands.some(isElsewhere);
    const deletes = [...given].some((option) => /^--(del|delete.*)$/.test(option));
    if (deletes && target !== undefined && isElsewhere(target)) return destructive("rsync --delete");
    return together([...(isRemote ? [remote] : []), arrival(target, scope)]);
  },
};

const curlTakes = `-A -b -c -C -d -D -e -E -F -h -H -K -m -o -P -Q -r -t -T -u -U -w -x -X -y -Y -z 
  --abstract-unix-socket --cacert --cert --config --connect-timeout --connect-to --cookie --cookie-jar --data
  --data-ascii --data-binary
  --data-raw --data-urlencode --dump-header --form --form-string --header --interface --json --key --limit-rate
  --max-redirs --max-time --output --output-dir --proxy --range --rate --referer --request --resolve --retry
  --retry-delay --stderr --trace --unix-socket --upload-file --url --user --user-agent --write-out`;

const wgetTakes = `-O --output-document -o --output-file -a --append-output -P --directory-prefix -i --input-file -t 
  --tries -T --timeout -w --wait -U --user-agent -e --execute -A -R -D -l --level --header --post-data --post-file
  --method
  --body-data --user --password`;

const isFile = ({ head, rest }: Text): boolean => rest !== "none" || head !== "-";

function isLoopback({ head }: Text): boolean {
  return /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|$)/.test(head);
}

/** `host:path`, `user@host:path` or a URL; a colon after a slash belongs to a file. */
function isElsewhere({ head }: Text): boolean {
  return /^[^/]+:/.test(head);
}

function arrival(target: Text | undefined, scope: ShellScope): Claim {
  return target === undefined || isElsewhere(target)
    ? together([])
    : writeTo(target.head === "" ? exact(".") : target, scope);
}
