import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { errnoName, unlessRefused } from "../../errors.ts";
import type { FailedStep } from "../assembly/failure.ts";
import { Unavailable } from "./unavailable.ts";

/** Reads a file of the kernel's that describes this machine; undefined where there is none. */
type Setting = (path: string) => string | undefined;

type Why = { reason: string; fix?: string };

const { EPERM, EACCES, EINVAL, ENOSPC, ENOSYS, EUSERS } = { EUSERS: 87, ...constants.errno };

/** Explains a failed step: the reason on this machine, and a fix. */
export function whyStepFailed({ step, errno }: FailedStep, setting: Setting = readSetting): Unavailable {
  const { reason, fix } = whyFailed({ step, errno }, setting);
  return new Unavailable(`${reason} (${step}: ${errnoName(errno)})`, fix);
}

/** The first that fits: what is said of a step alone, then what is said of its error. */
function whyFailed({ step, errno }: FailedStep, setting: Setting): Why {
  if (errno === ENOSYS) return oldKernel;
  if (errno === ENOSPC || errno === EUSERS) return whyNoMore(setting);
  const isMakingUser = step.startsWith("unshare(user");
  if (errno === EINVAL && isMakingUser) return notBuilt;
  if (errno !== EPERM && errno !== EACCES) return { reason: "the kernel refuses it" };
  if (step === "execve") return notStarted;
  // AppArmor's restriction may let the namespace be made, and then allow nothing in it.
  if (setting(appArmorSetting) === "1") return appArmor;
  if (step === "mount(/proc)") return maskedProc;
  if (!isMakingUser) return errno === EACCES ? profile : filter;
  if (setting(cloneSetting) === "0") return switchedOff;
  return isFiltered(setting) ? filter : otherwise;
}

const appArmorSetting = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
const cloneSetting = "/proc/sys/kernel/unprivileged_userns_clone";
const limits = "/proc/sys/user";

const oldKernel: Why = {
  reason: "this kernel does not have all that it takes",
  fix: "use Linux 5.13 or later itself; what imitates it, as gVisor does, has too little",
};

const notBuilt: Why = {
  reason: "this kernel is built without user namespaces",
  fix: "use a kernel with CONFIG_USER_NS=y",
};

const appArmor: Why = {
  reason: "AppArmor lets only programs that it knows use user namespaces, as on Ubuntu from 23.10 on",
  fix: "install bubblewrap with its AppArmor profile (apt install bubblewrap apparmor-profiles), or sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
};

const switchedOff: Why = {
  reason: "user namespaces are switched off for everyone but root: kernel.unprivileged_userns_clone is 0",
  fix: "sudo sysctl kernel.unprivileged_userns_clone=1",
};

const maskedProc: Why = {
  reason: "no new /proc can be mounted while parts of the old one are masked, as they are in containers",
  fix: "run the container with --security-opt systempaths=unconfined (Podman: --security-opt unmask=ALL)",
};

const filter: Why = {
  reason: "a seccomp filter forbids it, as those of containers (Docker's default one) and of other sandboxes do",
  fix: "run the container with --security-opt seccomp=unconfined, or with a profile that allows unshare, setns, clone, mount and the newer calls about mounts",
};

const profile: Why = {
  reason: "a security profile forbids it, as AppArmor's does in containers of Docker (docker-default)",
  fix: "run the container with --security-opt apparmor=unconfined",
};

const notStarted: Why = {
  reason:
    "not even /bin/true can be started: --deny-read (sandbox.hide) hides what programs need, or a security profile forbids it",
  fix: "hide less, or run the container with --security-opt apparmor=unconfined",
};

const otherwise: Why = {
  reason: "user namespaces are forbidden here, by a security module or because koda runs in a chroot",
  fix: "leave the chroot, or let the module (see /sys/kernel/security/lsm) allow it",
};

/** Each kind of namespace has a limit of its own. */
function whyNoMore(setting: Setting): Why {
  const kinds = ["user", "net", "mnt", "ipc", "uts", "pid"].map((kind) => `max_${kind}_namespaces`);
  const closed = kinds.find((kind) => setting(`${limits}/${kind}`) === "0");
  if (closed === undefined)
    return { reason: "the limit of namespaces is used up", fix: "see the limits in /proc/sys/user" };
  return { reason: `user.${closed} is 0`, fix: `sudo sysctl user.${closed}=15000` };
}

/** This process is under a seccomp filter. */
function isFiltered(setting: Setting): boolean {
  return /^Seccomp:\s*[12]$/m.test(setting("/proc/self/status") ?? "");
}

function readSetting(path: string): string | undefined {
  return unlessRefused(() => readFileSync(path, "latin1"))?.trim();
}
