/**
 * Checks of stored values that give their types. Not zod: loading it takes ten milliseconds and its checks take half of
 * the time in which a long session is read.
 */
type Check<T> = (value: unknown) => value is T;
export type TypeOf<S> = S extends Check<infer T> ? T : never;

type Checks = Readonly<Record<string, Check<unknown>>>;
type RequiredFields<S extends Checks> = { [K in keyof S]: TypeOf<S[K]> };
type OptionalFields<S extends Checks> = { [K in keyof S]?: TypeOf<S[K]> };

export const isString: Check<string> = (value) => typeof value === "string";
export const isNumber: Check<number> = (value) => typeof value === "number";
export const isBoolean: Check<boolean> = (value) => typeof value === "boolean";
export const isFigure: Check<number | null> = (value): value is number | null => value === null || isNumber(value);

export function isOneOf<const T extends string | true>(...values: readonly T[]): Check<T> {
  const known: ReadonlySet<unknown> = new Set(values);
  return (value): value is T => known.has(value);
}

// Loops rather than methods of arrays: most of this runs before it is compiled.

export function isListOf<T>(of: Check<T>): Check<readonly T[]> {
  return (value): value is readonly T[] => {
    if (!Array.isArray(value)) return false;
    for (const one of value) if (!of(one)) return false;
    return true;
  };
}

export function isEither<S extends readonly Check<unknown>[]>(...checks: S): Check<TypeOf<S[number]>> {
  return (value): value is TypeOf<S[number]> => {
    for (const check of checks) if (check(value)) return true;
    return false;
  };
}

/** Other properties may be there: a later version of koda may have written them. */
export function isRecordOf<R extends Checks, O extends Checks = {}>(
  required: R,
  optional?: O,
): Check<RequiredFields<R> & OptionalFields<O>> {
  const needed = fieldsOf(required);
  const possible = fieldsOf(optional ?? {});
  return (value): value is RequiredFields<R> & OptionalFields<O> => {
    if (typeof value !== "object" || value === null) return false;
    const properties = value as Record<string, unknown>;
    for (const { name, check } of needed) if (!check(properties[name])) return false;
    for (const { name, check } of possible) {
      const found = properties[name];
      // JSON has no undefined.
      if (found !== undefined && !check(found)) return false;
    }
    return true;
  };
}

function fieldsOf(checks: Checks): { name: string; check: Check<unknown> }[] {
  return Object.entries(checks).map(([name, check]) => ({ name, check }));
}
