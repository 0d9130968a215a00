import { describe, expect, test } from "bun:test";
import { constants } from "node:os";
import { whyStepFailed } from "../../lib/sandbox/tiers/failures.ts";
import { noLandlock } from "../../lib/sandbox/tiers/nolandlock.ts";

const { EPERM, EACCES, EINVAL, ENOSPC, ENOSYS, EBUSY } = constants.errno;
const filtered = { "/proc/self/status": "Name:\tkoda\nSeccomp:\t2\nSeccomp_filters:\t1" };
const making = "unshare(user, net)";

describe("a step that fails says what this machine is like, and what would help", () => {
  type Row = [
    machine: string,
    step: string,
    errno: number,
    settings: Record<string, string>,
    reason: string,
    fix: string,
  ];
  const rows: readonly Row[] = [
    ["Docker's default seccomp profile", making, EPERM, filtered, "Docker's default one", "seccomp=unconfined"],
    [
      "Ubuntu's AppArmor",
      making,
      EPERM,
      { ...filtered, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1" },
      "AppArmor",
      "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ],
    [
      "Ubuntu's AppArmor, that lets the namespace be made",
      "open(uid_map)",
      EACCES,
      { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1" },
      "AppArmor",
      "apt install bubblewrap",
    ],
    [
      "Debian's switch",
      making,
      EPERM,
      { "/proc/sys/kernel/unprivileged_userns_clone": "0" },
      "kernel.unprivileged_userns_clone is 0",
      "sysctl kernel.unprivileged_userns_clone=1",
    ],
    ["what programs need being hidden", "execve", EACCES, {}, "--deny-read", "hide less"],
    ["a chroot", making, EPERM, { "/proc/self/status": "Seccomp:\t0" }, "chroot", "leave the chroot"],
    [
      "no user namespaces allowed",
      making,
      ENOSPC,
      { "/proc/sys/user/max_user_namespaces": "0" },
      "user.max_user_namespaces is 0",
      "sysctl user.max_user_namespaces=",
    ],
    [
      "no network namespaces allowed",
      making,
      ENOSPC,
      { "/proc/sys/user/max_user_namespaces": "9", "/proc/sys/user/max_net_namespaces": "0" },
      "user.max_net_namespaces is 0",
      "sysctl user.max_net_namespaces=",
    ],
    ["all of them in use", making, ENOSPC, {}, "used up", "/proc/sys/user"],
    ["a kernel without them", making, EINVAL, {}, "built without user namespaces", "CONFIG_USER_NS"],
    ["gVisor", making, ENOSYS, {}, "does not have", "gVisor"],
    ["an old kernel", "open_tree(/)", ENOSYS, {}, "does not have", "Linux 5.13"],
    ["a masked /proc", "mount(/proc)", EPERM, {}, "/proc", "systempaths=unconfined"],
    ["Docker's AppArmor profile", "mount(private /)", EACCES, {}, "docker-default", "apparmor=unconfined"],
    ["a filter in the middle", "setns(user)", EPERM, {}, "seccomp filter", "seccomp=unconfined"],
  ];
  for (const [machine, step, errno, settings, reason, fix] of rows)
    test(machine, () => {
      const why = whyStepFailed({ step, errno }, (path) => settings[path]);
      expect(why.message).toContain(reason);
      expect(why.message).toContain(`(${step}: E`);
      expect(why.fix).toContain(fix);
    });

  test("what nobody knows a reason for", () => {
    const why = whyStepFailed({ step: "seccomp(NEW_LISTENER)", errno: EBUSY }, () => undefined);
    expect(why.message).toBe("the kernel refuses it (seccomp(NEW_LISTENER): EBUSY)");
    expect(why.fix).toBeUndefined();
  });
});

test("without Landlock it is the kernel that is too old, or its settings", () => {
  expect(noLandlock("5.10.0-30-amd64")).toMatchObject({
    message: "Linux 5.10.0-30-amd64 has no Landlock",
    fix: "use Linux 6.12 or later",
  });
  expect(noLandlock("6.1.0").fix).toContain("lsm=");
});
