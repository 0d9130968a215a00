import type { Syscall } from "../assembly/syscalls.ts";
import { allow } from "./bpf.ts";
import { type NamedRule, noSuchCall, notAllowed, refusing, refusingAll } from "./rule.ts";

/** Resources that commands share with the other programs of the machine, for want of a namespace of their own. */
export type NeighbourOptions = {
  /** Processes can be named that are not the commands'. */
  foreignProcesses: boolean;
  /** So can shared memory, semaphores and message queues. */
  foreignIpc: boolean;
};

export function neighbourRules({ foreignProcesses, foreignIpc }: NeighbourOptions): readonly NamedRule[] {
  return [...(foreignProcesses ? priorityRules : []), ...(foreignIpc ? refusingAll(ipc, noSuchCall) : [])];
}

const [oneProcess, oneProcessOrThread] = [0, 1] as const;
const itself = 0;
const ordinary = 0;

/**
 * The kernel lets a user take time from any process of the same user, for good. Threads name themselves by their number
 * when they choose processors or go back to the ordinary policy, so these two stay allowed, for whatever number.
 */
const priorityRules: readonly NamedRule[] = [
  refusing("setpriority", { argument: 0, isNot: oneProcess }, { argument: 1, isNot: itself }),
  refusing("ioprio_set", { argument: 0, isNot: oneProcessOrThread }, { argument: 1, isNot: itself }),
  refusing("sched_setattr", { argument: 0, isNot: itself }),
  {
    call: "sched_setscheduler",
    cases: [notAllowed({ argument: 0, isNot: itself }, { argument: 1, isNot: ordinary })],
    otherwise: allow,
  },
];

/** By number or by name they are anybody's whose user is the same, whatever files can be reached. */
const ipc: readonly Syscall[] = [
  ...(["shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl"] as const),
  ...(["msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"] as const),
];
