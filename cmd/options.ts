import type { Command, CommandName, commands } from "./commands.ts";
import type { Flags } from "./flags.ts";
import type { Value } from "./values.ts";

/**
 * What a command line asks for, typed from the command's table: a switch is a boolean, a repeatable flag an array, and
 * what was not given is absent, so that the environment and the configuration can fill it in.
 */
type OptionsOf<C extends Command> = Flat<
  Switches<C["flags"]> & Singles<C["flags"]> & Repeated<C["flags"]> & Places<C["positionals"]>
>;

export type Options<N extends CommandName> = OptionsOf<(typeof commands)[N]>;
export type ExecOptions = Options<"exec">;

type Flat<T> = { readonly [K in keyof T]: T[K] };
type Camel<S> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type Read<F> = F extends { value: Value<infer T> } ? T : never;
type Item<T> = T extends readonly (infer I)[] ? I : T;

/** `help` and shorthands are the parser's own business. */
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
  ]?: Read<F[K]>;
} & { [K in keyof F as F[K] extends { required: true } ? Camel<K> : never]: Read<F[K]> };
type Repeated<F extends Flags> = {
  [K in keyof F as F[K] extends { many: true } ? Camel<K> : never]: readonly Item<Read<F[K]>>[];
};
type Places<P extends Command["positionals"]> = {
  [K in keyof P as P[K] extends { optional: true } ? never : K]: P[K] extends { line: true }
    ? readonly [Read<P[K]>, ...string[]]
    : Read<P[K]>;
} & { [K in keyof P as P[K] extends { optional: true } ? K : never]?: Read<P[K]> };

/** `max-turns` as a property's name. */
export function propertyOf(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
