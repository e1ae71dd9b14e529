import { STORE_TIME } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Idempotency } from '../../core/store.ts'
import { foreignKey } from './call-failure.ts'
import { idempotencyName } from './decide-in-one-slot.ts'
import type { Runner } from './script-runner.ts'

/** What an idempotency key was answered with, and until when that holds by a caller's clock. */
interface SavedReply {
  readonly untilMs: number | undefined
  readonly verdicts: readonly LimitResult[]
}

/** The results that an idempotency key was first answered with, when it was. */
export async function loadReply(
  runner: Runner,
  key: string,
  { key: id }: Idempotency,
  nowMs: number,
): Promise<readonly LimitResult[] | undefined> {
  const name = idempotencyName(key, id)
  const text = await runner.ask(name, ['GET', name])
  if (text === null || text === undefined) return undefined
  const { untilMs = Number.POSITIVE_INFINITY, verdicts } = parseReply(name, String(text))
  if (untilMs > nowMs) return verdicts.map(whole)
  await runner.ask(name, ['DEL', name])
  return undefined
}

function parseReply(name: string, text: string): SavedReply {
  try {
    const kept = JSON.parse(text) as SavedReply
    if (Array.isArray(kept.verdicts)) return kept
    throw new Error('it has no verdicts')
  } catch (cause) {
    throw foreignKey('Redis did not decide by tiers', [name], cause)
  }
}

// In JSON there is neither an infinity nor what is undefined.
function whole(result: LimitResult): LimitResult {
  const retryAfterMs: number | null = result.retryAfterMs
  return { ...result, retryAfterMs: retryAfterMs ?? Number.POSITIVE_INFINITY, reason: result.reason ?? undefined }
}

/** Keeps the results that an idempotency key is answered with. Answers false, and keeps nothing, when there are some already. */
export async function saveReply(
  runner: Runner,
  key: string,
  { key: id, ttlMs: ms }: Idempotency,
  nowMs: number,
  verdicts: readonly LimitResult[],
): Promise<boolean> {
  const name = idempotencyName(key, id)
  const untilMs = nowMs === STORE_TIME ? undefined : nowMs + ms
  // By a caller's clock the time above decides, and the server only frees: a minute later.
  const keepMs = nowMs === STORE_TIME ? ms : ms + 60_000
  const kept: SavedReply = { untilMs, verdicts }
  const reply = await runner.ask(name, ['SET', name, JSON.stringify(kept), 'PX', `${keepMs}`, 'NX'])
  return reply !== null && reply !== undefined
}
