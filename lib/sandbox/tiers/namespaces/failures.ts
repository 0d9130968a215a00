import { readFileSync } from "node:fs";
import { unlessRefused } from "../../../errors.ts";
import { Unavailable } from "../unavailable.ts";

const [EPERM, EINVAL, ENOSPC, ENOSYS, EACCES] = [1, 22, 28, 38, 13] as const;

/** What a failed step says about this machine, and what would help. */
export function whyStepFailed({ step, errno }: { step: string; errno: number }): Unavailable {
  const said = `${step} failed, errno ${errno}`;
  if (step.startsWith("unshare(user")) return whyNoUserNamespaces(errno, said);
  // With AppArmor's restriction the namespace can be made, and then nothing may be done in it.
  if (isRestrictedByAppArmor() && (errno === EPERM || errno === EACCES)) return new Unavailable(said, appArmorFix);
  if (step === "mount(/proc)")
    return new Unavailable(
      `${said}: /proc is masked, as in most containers`,
      "run the container with --security-opt systempaths=unconfined",
    );
  return new Unavailable(said);
}

function whyNoUserNamespaces(errno: number, said: string): Unavailable {
  if (errno === ENOSPC)
    return new Unavailable(
      `${said}: user.max_user_namespaces is 0 or used up`,
      "sysctl user.max_user_namespaces=15000",
    );
  if (errno === EINVAL || errno === ENOSYS)
    return new Unavailable(`${said}: this kernel is built without user namespaces`, "use a kernel with CONFIG_USER_NS");
  if (setting("/proc/sys/kernel/unprivileged_userns_clone") === "0")
    return new Unavailable(
      `${said}: kernel.unprivileged_userns_clone is 0`,
      "sysctl kernel.unprivileged_userns_clone=1",
    );
  if (isRestrictedByAppArmor()) return new Unavailable(said, appArmorFix);
  return new Unavailable(
    `${said}: a seccomp profile forbids it, as Docker's default one does`,
    "run the container with --security-opt seccomp=unconfined, or with a profile that allows unshare, setns, mount and their like",
  );
}

const appArmorFix =
  "AppArmor restricts user namespaces (Ubuntu 23.10 and later): install bubblewrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0";

function isRestrictedByAppArmor(): boolean {
  return setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1";
}

function setting(path: string): string | undefined {
  return unlessRefused(() => readFileSync(path, "latin1"))?.trim();
}
