import type { Syscall } from "../assembly/syscalls.ts";

/** Ways into other processes, into the kernel and around the file system's rules, that no development tool needs. */
export const forbidden: readonly Syscall[] = [
  ...(["process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd", "ptrace"] as const),
  ...(["process_mrelease", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key"] as const),
  ...(["memfd_secret", "lsm_set_self_attr", "mount", "umount2", "pivot_root", "chroot", "mount_setattr"] as const),
  ...(["open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "setns"] as const),
  ...(["init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot"] as const),
  ...(["swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "sethostname", "setdomainname"] as const),
  ...(["settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "iopl", "ioperm"] as const),
  ...(["name_to_handle_at", "open_by_handle_at", "fanotify_init", "lookup_dcookie", "syslog", "vhangup"] as const),
  // Flags that make a file unchangeable, like the request of ioctl that does the same.
  "file_setattr",
];

/**
 * Calls whose arguments a filter cannot see, since they lie in memory: they are said not to exist, and programs take
 * the older call that can be judged (clone for clone3, openat for openat2).
 */
export const opaque: readonly Syscall[] = [
  ...(["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2"] as const),
];

/** Calls that kernels keep for programs of twenty years ago, and that are hardly maintained. */
export const obsolete: readonly Syscall[] = [
  ...(["modify_ldt", "uselib", "ustat", "sysfs", "_sysctl", "nfsservctl", "vserver"] as const),
  ...(["create_module", "get_kernel_syms", "query_module"] as const),
];
