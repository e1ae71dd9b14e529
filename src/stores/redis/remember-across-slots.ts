import { STORE_TIME } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import type { Memo } from '../../core/store.ts'
import { foreignKey } from './call-failure.ts'
import { memoKey } from './decide-in-one-slot.ts'
import type { Runner } from './script-runner.ts'

/** What an id was answered with, and until when that holds by a caller's clock. */
interface Remembered {
  readonly untilMs: number | undefined
  readonly verdicts: readonly Verdict[]
}

/** The verdicts that an id was first answered with, when it was. */
export async function recall(
  runner: Runner,
  key: string,
  { id }: Memo,
  nowMs: number,
): Promise<readonly Verdict[] | undefined> {
  const name = memoKey(key, id)
  const text = await runner.ask(name, ['GET', name])
  if (text === null || text === undefined) return undefined
  const { untilMs = Number.POSITIVE_INFINITY, verdicts } = remembered(name, String(text))
  if (untilMs > nowMs) return verdicts.map(whole)
  await runner.ask(name, ['DEL', name])
  return undefined
}

function remembered(name: string, text: string): Remembered {
  try {
    const kept = JSON.parse(text) as Remembered
    if (Array.isArray(kept.verdicts)) return kept
    throw new Error('it has no verdicts')
  } catch (cause) {
    throw foreignKey('Redis did not decide by tiers', [name], cause)
  }
}

// In JSON there is neither an infinity nor what is undefined.
function whole(verdict: Verdict): Verdict {
  const retryAfterMs: number | null = verdict.retryAfterMs
  return { ...verdict, retryAfterMs: retryAfterMs ?? Number.POSITIVE_INFINITY, reason: verdict.reason ?? undefined }
}

/** Keeps the verdicts that an id is answered with. Answers false, and keeps nothing, when there are some already. */
export async function remember(
  runner: Runner,
  key: string,
  { id, ms }: Memo,
  nowMs: number,
  verdicts: readonly Verdict[],
): Promise<boolean> {
  const name = memoKey(key, id)
  const untilMs = nowMs === STORE_TIME ? undefined : nowMs + ms
  // By a caller's clock the time above decides, and the server only frees: a minute later.
  const ttlMs = nowMs === STORE_TIME ? ms : ms + 60_000
  const kept: Remembered = { untilMs, verdicts }
  const reply = await runner.ask(name, ['SET', name, JSON.stringify(kept), 'PX', `${ttlMs}`, 'NX'])
  return reply !== null && reply !== undefined
}
