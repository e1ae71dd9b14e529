/** A length of time for people: `250 ms`, `12.4 s`, `1 m 12 s`, `3 h 5 m`, `2 d 4 h`, the rest cut off. `never` when it has no end. */
export function formatDuration(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return 'never'
  if (ms < SECOND) return `${ms} ms`
  if (ms < MINUTE) return `${Math.floor(ms / 100) / 10} s`
  if (ms < HOUR) return inTwo(ms, MINUTE, 'm', SECOND, 's')
  return ms < DAY ? inTwo(ms, HOUR, 'h', MINUTE, 'm') : inTwo(ms, DAY, 'd', HOUR, 'h')
}

/** A time of this machine's calendar: `2031-05-06 07:08:09.010`. */
export function formatTime(atMs: number): string {
  const date = new Date(atMs)
  const two = (number: number): string => `${number}`.padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return `${day} ${clock}.${`${date.getMilliseconds()}`.padStart(3, '0')}`
}

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 86_400_000

function inTwo(ms: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % largeMs) / smallMs)
  return `${Math.floor(ms / largeMs)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`
}
