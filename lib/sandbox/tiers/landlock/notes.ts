/** Known gaps of this tier, in words for people. */
export const gaps: readonly string[] = [
  "modes, times and extended attributes of your files elsewhere can be changed",
  ".git, .koda and what other tools run are not held: what changes in them is undone after the command",
  "names and sizes of hidden files can be seen, and what they hold by another name (a hard link)",
  "commands cannot run servers over TCP, only at unix sockets in the project; in most containers not even there",
  "other processes can be seen, and yours be given fewer processors",
  "no shared memory, semaphores or message queues of System V, which PostgreSQL and fakeroot need, nor POSIX queues",
  "names that are looked up in an automounter's directory are asked of its daemon, and so of the network",
  "what a command leaves running is looked for, and may go on when koda is killed",
  "/tmp and /dev/shm are closed: no POSIX semaphores, no pseudo-terminals",
];
