/** How many seconds of the time line may pass in one second. */
export const SPEEDS: readonly number[] = [1, 2, 5, 10, 30, 60, 600, 3_600]

/** The speed at which a time line plays in some ten seconds, or the greatest. */
export function startSpeed(lengthMs: number): number {
  return SPEEDS.find((speed) => lengthMs / speed <= LONGEST_SHOW_MS) ?? (SPEEDS.at(-1) as number)
}

const LONGEST_SHOW_MS = 15_000

/** Where on the time line the reader is. Moves while it plays, and calls its listeners. */
export class PlayHead {
  readonly #lengthMs: number
  readonly #listeners = new Set<() => void>()
  #atMs: number
  #isPlaying = false
  #speed: number

  constructor(
    lengthMs: number,
    { atMs = lengthMs, speed = 1 }: { readonly atMs?: number; readonly speed?: number } = {},
  ) {
    this.#lengthMs = lengthMs
    this.#atMs = Math.min(atMs, lengthMs)
    this.#speed = speed
  }

  get lengthMs(): number {
    return this.#lengthMs
  }

  get atMs(): number {
    return this.#atMs
  }

  get atS(): number {
    return this.#atMs / 1_000
  }

  get isPlaying(): boolean {
    return this.#isPlaying
  }

  get speed(): number {
    return this.#speed
  }

  /** Goes on from here, and from the start when it is at the end. */
  play(): void {
    if (this.#atMs >= this.#lengthMs) this.#atMs = 0
    this.#isPlaying = true
    this.#tell()
  }

  pause(): void {
    this.#isPlaying = false
    this.#tell()
  }

  seek(atMs: number): void {
    this.#atMs = Math.min(Math.max(atMs, 0), this.#lengthMs)
    this.#tell()
  }

  /** How many seconds of the time line pass in one second. */
  setSpeed(speed: number): void {
    this.#speed = speed
    this.#tell()
  }

  /** Moves on by so much real time, and stops at the end. Nothing happens unless it plays. */
  pass(realMs: number): void {
    if (!this.#isPlaying) return
    this.#atMs = Math.min(this.#lengthMs, this.#atMs + realMs * this.#speed)
    if (this.#atMs === this.#lengthMs) this.#isPlaying = false
    this.#tell()
  }

  subscribe(moved: () => void): () => void {
    this.#listeners.add(moved)
    return () => {
      this.#listeners.delete(moved)
    }
  }

  #tell(): void {
    for (const moved of this.#listeners) moved()
  }
}
