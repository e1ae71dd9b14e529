/** Milliseconds on a clock that never steps and that all processes of the machine share. */
export function monotonicMs() {
  return Number(process.hrtime.bigint()) / 1e6
}
