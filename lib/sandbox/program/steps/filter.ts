import type { Assembly, Variable } from "../../assembly/assembly.ts";

const SECCOMP_SET_MODE_FILTER = 1;
const SECCOMP_FILTER_FLAG_NEW_LISTENER = 8;
/** Since Linux 5.19. */
const SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV = 32;
const EINVAL = 22;
const instructionBytes = 8;
const [SOL_SOCKET, SCM_RIGHTS] = [1, 1] as const;

/** Puts the process under a filter; `listener` is the socket to the supervisor that is asked about calls. */
export function filterCalls(program: Assembly, { filter, listener }: { filter: Uint8Array; listener?: number }): void {
  const description = program.words(filter.length / instructionBytes, program.bytes(filter));
  if (listener === undefined) {
    program.step("seccomp", [SECCOMP_SET_MODE_FILTER, 0, description], { must: "seccomp" });
    return;
  }
  const notifications = program.variable();
  const [older, listening] = [program.label("an older kernel"), program.label("the filter is installed")];
  const install = (flags: number) => [SECCOMP_SET_MODE_FILTER, flags, description];
  // A call that is being answered is not cut off by signals, of which some languages send many.
  program.step("seccomp", install(SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV), {
    onErrno: { errno: [EINVAL], to: older },
    must: "seccomp(NEW_LISTENER)",
    into: notifications,
  });
  program.jump("always", listening);
  program.place(older);
  program.step("seccomp", install(SECCOMP_FILTER_FLAG_NEW_LISTENER), {
    must: "seccomp(NEW_LISTENER)",
    into: notifications,
  });
  program.place(listening);
  sendDescriptors(program, { socket: listener, descriptors: [notifications] });
}

/** Sends descriptors through a socket; the message itself is one letter, since there must be one. */
export function sendDescriptors(
  program: Assembly,
  { socket, descriptors }: { socket: number; descriptors: readonly Variable[] },
): void {
  const length = 16 + 4 * descriptors.length;
  const control = Buffer.alloc(Math.ceil(length / 8) * 8);
  control.writeBigUInt64LE(BigInt(length), 0);
  control.writeInt32LE(SOL_SOCKET, 8);
  control.writeInt32LE(SCM_RIGHTS, 12);
  const at = program.bytes(control);
  for (const [index, descriptor] of descriptors.entries()) program.copy32(descriptor, at + 16 + 4 * index);
  const part = program.words(program.text("d"), 1);
  const message = program.words(0, 0, part, 1, at, control.length, 0);
  program.step("sendmsg", [socket, message, 0], { must: "sendmsg" });
}
