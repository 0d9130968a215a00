/** Milliseconds that this process has computed: other than the time of a clock, it has no part of what others do. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
