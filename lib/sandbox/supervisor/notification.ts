import { syscalls } from "../assembly/syscalls.ts";
import { ioctl } from "./calls.ts";

/** A call that waits for its answer, and its arguments: a descriptor of the command's, and what to do with it. */
export type Call = ConnectCall | ListenCall;
/** The address lies in the command's memory. */
export type ConnectCall = Asked & { name: "connect"; address: bigint; length: number };
export type ListenCall = Asked & { name: "listen"; backlog: number };

type Asked = {
  listener: number;
  id: bigint;
  /** The thread's number, as this process sees it. */
  pid: number;
  descriptor: number;
};

const [RECV, SEND, ID_VALID, ADDFD] = [0xc0502100, 0xc0182101, 0x40082102, 0x40182103] as const;
/** struct seccomp_notif: u64 id, u32 pid, u32 flags, and struct seccomp_data with its arguments at 32. */
const notificationBytes = 80;
/** struct seccomp_notif_resp and struct seccomp_notif_addfd are equally long. */
const answerBytes = 24;

/** Takes the next call; undefined when it is gone meanwhile, or is none that the filter should have sent. */
export function takeCall(listener: number): Call | undefined {
  const bytes = new Uint8Array(notificationBytes);
  if (ioctl(listener, RECV, bytes) < 0) return undefined;
  const view = new DataView(bytes.buffer);
  const asked = {
    listener,
    id: view.getBigUint64(0, true),
    pid: view.getUint32(8, true),
    descriptor: view.getInt32(32, true),
  };
  switch (view.getInt32(16, true)) {
    case syscalls.connect[column]:
      return { ...asked, name: "connect", address: view.getBigUint64(40, true), length: view.getInt32(48, true) };
    case syscalls.listen[column]:
      return { ...asked, name: "listen", backlog: view.getInt32(40, true) };
    default:
      answer(asked, -noSuchCall);
      return undefined;
  }
}

const column = process.arch === "arm64" ? 1 : 0;
const noSuchCall = 38;

/** Then all that was read of its process before was read of that one, and not of a later one by its number. */
export function stillWaits({ listener, id }: Asked): boolean {
  return ioctl(listener, ID_VALID, new Uint8Array(new BigUint64Array([id]).buffer)) === 0;
}

/** Zero or a negative errno; "itself" has the kernel do the call, of which nothing may lie in the command's memory. */
export type CallResult = number | "itself";
const continues = 1;

/** Ends the call as the kernel would. False when it no longer waits. */
export function answer({ listener, id }: Asked, result: CallResult): boolean {
  const bytes = new Uint8Array(answerBytes);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, id, true);
  if (result === "itself") view.setUint32(20, continues, true);
  else view.setInt32(16, result, true);
  return ioctl(listener, SEND, bytes) === 0;
}

const replacing = 1;
const O_CLOEXEC = 0o2000000;

/** Puts a descriptor of ours where the command has the one that it wants to connect. */
export function putInPlace(
  call: ConnectCall,
  { source, closeOnExec }: { source: number; closeOnExec: boolean },
): number {
  const bytes = new Uint8Array(answerBytes);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, call.id, true);
  view.setUint32(8, replacing, true);
  view.setUint32(12, source, true);
  view.setUint32(16, call.descriptor, true);
  view.setUint32(20, closeOnExec ? O_CLOEXEC : 0, true);
  const result = ioctl(call.listener, ADDFD, bytes);
  return Math.min(result, 0);
}
