import type { CommandName, CommandSpec, commands } from "./commands.ts";
import type { Flags } from "./flags.ts";
import type { ArgumentType } from "./values.ts";

/**
 * The parsed command line, typed from the command's table: a switch is a boolean and a repeatable flag an array. What
 * was not given is absent, so that the environment and the configuration can fill it in.
 */
type OptionsOf<C extends CommandSpec> = Flat<
  Switches<C["flags"]> & Singles<C["flags"]> & Repeated<C["flags"]> & Positionals<C["positionals"]>
>;

export type CommandOptions<N extends CommandName> = OptionsOf<(typeof commands)[N]>;
export type ExecOptions = CommandOptions<"exec">;

type Flat<T> = { readonly [K in keyof T]: T[K] };
type Camel<S> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type ValueOf<F> = F extends { value: ArgumentType<infer T> } ? T : never;
type Item<T> = T extends readonly (infer I)[] ? I : T;

/** `help` and shorthands are handled by the parser. */
type Switches<F extends Flags> = {
  [
    K in keyof F as K extends "help" ? never : F[K] extends { value: unknown } | { means: unknown } ? never : Camel<K>
  ]: boolean;
};
type Singles<F extends Flags> = {
  [
    K in keyof F as F[K] extends { many: true } | { required: true }
      ? never
      : F[K] extends { value: unknown }
        ? Camel<K>
        : never
  ]?: ValueOf<F[K]>;
} & { [K in keyof F as F[K] extends { required: true } ? Camel<K> : never]: ValueOf<F[K]> };
type Repeated<F extends Flags> = {
  [K in keyof F as F[K] extends { many: true } ? Camel<K> : never]: readonly Item<ValueOf<F[K]>>[];
};
type Positionals<P extends CommandSpec["positionals"]> = {
  [K in keyof P as P[K] extends { optional: true } ? (P[K] extends { many: true } ? K : never) : K]: Place<P[K]>;
} & {
  [K in keyof P as P[K] extends { optional: true } ? (P[K] extends { many: true } ? never : K) : never]?: Place<P[K]>;
};
type Place<P> = P extends { line: true }
  ? readonly [ValueOf<P>, ...string[]]
  : P extends { many: true }
    ? readonly ValueOf<P>[]
    : ValueOf<P>;

/** `maxTurns` for `max-turns`. */
export function propertyOf(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
