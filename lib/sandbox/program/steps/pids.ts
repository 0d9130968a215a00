import type { Assembly, Variable } from "../../assembly/assembly.ts";
import { showOwnProcesses } from "./mounts.ts";
import { closeFrom, dieWithParent } from "./process.ts";

const CLONE_NEWPID = 0x20000000;
const SIGCHLD = 17;
const SIGKILL = 9;
const O_CLOEXEC = 0o2000000;
const anyChild = -1;
/** Waiting processes move the descriptors that they need here, so that all others can be closed at once. */
const [pipeEnd, reportEnd] = [100, 101] as const;

type ProcessTree = {
  /**
   * Gets the command's status (four bytes, as wait() gives it), and its end when nothing of the command is left: the
   * kernel then still takes the mounts down, and there is no need to wait for that. Without a report all that is left
   * is killed.
   */
  report?: number;
  most?: number;
};

/**
 * The rest of the program runs in a process namespace of its own, which nothing outlives. Three processes make that up:
 * the program itself stays outside, waits and passes the status on; the namespace's first process collects the dead in
 * it; its child becomes the command. The outer one is killed with koda, the first one with the outer one, and all
 * others with the first.
 */
export function inOwnProcessTree(program: Assembly, { report, most }: ProcessTree): void {
  const [first, command] = [program.label("first process"), program.label("command")];
  const ends = program.bytes(new Uint8Array(8));
  const [status, namespace] = [program.variable(), program.variable()];
  program.step("pipe2", [ends, O_CLOEXEC], { must: "pipe2" });

  program.step("clone", [CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0], { must: "clone(NEWPID)", into: namespace });
  program.jump("zero", first);
  waitOutside(program, { status, namespace, pipe: { half: ends }, report });

  program.place(first);
  dieWithParent(program);
  showOwnProcesses(program, most);
  const child = program.variable();
  program.step("clone", [SIGCHLD, 0, 0, 0, 0], { must: "clone", into: child });
  program.jump("zero", command);
  reapChildren(program, { status, child, pipe: { half: ends + 4 } });

  program.place(command);
}

type End = { half: number };

/** `namespace` is its first process: nothing in there outlives it. */
type Outside = { status: Variable; namespace: Variable; pipe: End; report?: number | undefined };

function waitOutside(program: Assembly, { status, namespace, pipe, report }: Outside): void {
  const known = program.label("the status is known");
  program.step("dup3", [pipe, pipeEnd, 0], { must: "dup3" });
  if (report !== undefined) program.step("dup3", [report, reportEnd, 0], { must: "dup3" });
  // Open here, the streams would not end when the command closes them.
  closeFrom(program, 0, pipeEnd - 1);
  closeFrom(program, reportEnd + (report === undefined ? 0 : 1));
  program.step("read", [pipeEnd, status.address, 4]);
  program.jump({ is: 4 }, known);
  // The first process was killed before it could say anything, and everything with it.
  program.take(SIGKILL);
  program.save(status);
  program.place(known);
  if (report === undefined) program.step("kill", [namespace, SIGKILL]);
  else program.step("write", [reportEnd, status.address, 4]);
  const gone = program.variable();
  program.step("wait4", [anyChild, gone.address, 0, 0]);
  if (report !== undefined) closeFrom(program, reportEnd, reportEnd);
  program.exitLike(status);
}

function reapChildren(
  program: Assembly,
  { status, child, pipe }: { status: Variable; child: Variable; pipe: End },
): void {
  const [next, told, over] = [
    program.label("wait for the next"),
    program.label("tell"),
    program.label("all have ended"),
  ];
  program.step("dup3", [pipe, pipeEnd, 0], { must: "dup3" });
  closeFrom(program, 0, pipeEnd - 1);
  closeFrom(program, reportEnd);
  program.place(next);
  program.step("wait4", [anyChild, status.address, 0, 0], { onError: over });
  program.jump({ equals: child }, told);
  program.jump("always", next);
  program.place(told);
  program.step("write", [pipeEnd, status.address, 4]);
  closeFrom(program, pipeEnd, pipeEnd);
  program.jump("always", next);
  program.place(over);
  program.step("exit_group", [0]);
}
