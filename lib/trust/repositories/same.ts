import { basename, dirname } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { HeldDirectory } from "../../files/held.ts";
import { kindOf } from "../../files/walk.ts";
import { bytesIn } from "./pointers.ts";

const mostEntries = 1_000;
const mostBytes = 1_000_000n;

/** Do the entries at two real paths have the same contents and modes? Not with symlinks, or too much to read. */
export function areSame(one: string, other: string): boolean {
  const compare = () => {
    using first = HeldDirectory.open(dirname(one));
    using second = HeldDirectory.open(dirname(other));
    return isSame([first, basename(one)], [second, basename(other)], { entries: mostEntries });
  };
  return unlessRefused(compare) ?? false;
}

type Place = readonly [directory: HeldDirectory, name: string];

function isSame([one, name]: Place, [other, otherName]: Place, left: { entries: number }): boolean {
  const [first, second] = [one.look(name), other.look(otherName)];
  if (first === undefined || second === undefined || first.mode !== second.mode || left.entries-- <= 0) return false;
  const kind = kindOf(first);
  if (kind === "file" && first.size === second.size && first.size < mostBytes)
    return bytesIn(one, name).equals(bytesIn(other, otherName));
  if (kind !== "directory") return false;
  using inner = one.child(name);
  using otherInner = other.child(otherName);
  const names = inner.names();
  return (
    names.join("/") === otherInner.names().join("/") &&
    names.every((each) => isSame([inner, each], [otherInner, each], left))
  );
}
