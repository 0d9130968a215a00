/** apt, dpkg, dnf, rpm and apk: to open one directory for them would not be enough. */
const systemPackages =
  /^([EW]|dpkg|rpm|error): .*(\/var\/(lib|cache)\/(apt|dpkg|dnf|rpm|yum)|are you root|setgroups|superuser)|^error: .*(lock database|superuser privileges)/i;

/** Refusals that no flag lifts, by the messages that programs write about them. */
const refusedByDesign: readonly [message: RegExp, reason: string][] = [
  [/^sudo:|no new privileges|^su: |^doas: /i, "sudo and its like give no rights in a sandbox"],
  [/\bptrace\b.*not permitted|could not attach to process|^strace: .*not permitted/i, "tracing processes is refused"],
  [/^u?mount: .*(denied|not permitted|superuser)/i, "mounting is refused"],
  [/^(unshare|bwrap|newuidmap): .*(not permitted|permissions?|failed)/i, "making namespaces is refused"],
  [/^chroot: cannot change root/i, "changing the root directory is refused"],
  [/^(chown|chgrp): .*(not permitted|invalid argument)/i, "files cannot be given to other users"],
  [/^mknod: .*(not permitted|denied)/i, "making devices is refused"],
  [
    /^(date: cannot set|hostname: (you must|sethostname)|sysctl: .*denied|dmesg: .*not permitted)/i,
    "the machine's settings and its log are closed",
  ],
  [systemPackages, "packages of the system cannot be installed"],
  [
    /(denied|connect).*\b(docker|podman)\b.*\bsock/i,
    "containers run outside of the sandbox, so their socket is closed",
  ],
  [
    /^system has not been booted with systemd|failed to connect to (system scope |user scope )?bus/i,
    "services of the system are out of reach",
  ],
  [/^ping6?: .*(not permitted|not supported)/i, "only TCP connections through koda's proxies are possible"],
];

/** The reason for a line of output, if no flag would have prevented it. */
export function byDesign(line: string): string | undefined {
  const found = refusedByDesign.find(([message]) => message.test(line));
  return found && `sandbox: ${found[1]}, by design`;
}
