/** A generated id begins with the time; eight digits of it are about a minute. */
const generated = /^[\da-f]{8}-[\da-f]{4}-7/;
const [leastGenerated, leastChosen] = [8, 24] as const;

/** The unique prefix of each id. */
export function shortIds(ids: readonly string[]): Map<string, string> {
  const sorted = [...ids].sort();
  return new Map(
    sorted.map((id, at) => {
      const shared = Math.max(sharedLength(id, sorted[at - 1]), sharedLength(id, sorted[at + 1]));
      const least = generated.test(id) ? leastGenerated : leastChosen;
      const length = Math.max(least, shared + 1);
      return [id, id.slice(0, id[length - 1] === "-" ? length + 1 : length)];
    }),
  );
}

function sharedLength(id: string, other = ""): number {
  let length = 0;
  while (length < id.length && id[length] === other[length]) length++;
  return length;
}
