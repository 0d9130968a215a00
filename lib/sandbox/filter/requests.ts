import type { Check } from "./bpf.ts";
import { allowed, type NamedRule, notAllowed, refusing } from "./rule.ts";

/** An ioctl is known by its lowest two bytes, a family and a number in it; what is above says how long its data is. */
const anyOfFamily = 0xff00;
const anyLength = 0xffff;

const request = (is: number): Check => ({ argument: 1, is });
const ofAnyLength = (is: number): Check => ({ argument: 1, mask: anyLength, is });
const family = (letter: number): Check => ({ argument: 1, mask: anyOfFamily, is: letter << 8 });

/** The requests for a copy that shares its blocks (cp --reflink) are of btrfs's family, on every file system. */
const [clone, cloneRange, dedupeRange] = [0x40049409, 0x4020940d, 0xc0189436] as const;
const [btrfs, bcachefs, keyboard] = [0x94, 0xbc, 0x4b] as const;

/** They put text into the input of a terminal or a console, which another shell would read, or take its output. */
const [TIOCSTI, TIOCLINUX, TIOCCONS] = [0x5412, 0x541c, 0x541d] as const;
/** Another line discipline: drivers of modems and of buses, within the kernel. */
const TIOCSETD = 0x5423;
/** They make files that cannot be changed or removed any more: immutable, append-only, sealed with a hash. */
const [FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY] = [0x6602, 0x5820, 0x6685] as const;
/** Encrypted directories: a policy for one; a key for the whole file system, or the removal of the user's own. */
const [encrypt, addKey, removeKey, removeEverybodysKey] = [0x6613, 0x6617, 0x6618, 0x6619] as const;

const terminals = [TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD].map((is) => notAllowed(request(is)));
const permanent = [FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY];
const encryption = [encrypt, addKey, removeKey, removeEverybodysKey];

const [F_SETLEASE, F_NOTIFY, F_SETDELEG] = [1024, 1026, 1040] as const;

export const requestRules: readonly NamedRule[] = [
  {
    ...refusing("ioctl"),
    cases: [
      ...terminals,
      ...[...permanent, ...encryption].map((is) => notAllowed(ofAnyLength(is))),
      ...[clone, cloneRange, dedupeRange].map((is) => allowed(request(is))),
      // Subvolumes and snapshots go by other rules than directories; a console's keys can be made to type commands.
      ...[btrfs, bcachefs, keyboard].map((letter) => notAllowed(family(letter))),
    ],
  },
  // Opening a file with a lease on it waits for its holder; koda opens files of the project.
  refusing("fcntl", ...[F_SETLEASE, F_NOTIFY, F_SETDELEG].map((is) => ({ argument: 1, is }))),
];
