import { startTimer } from '../../core/clock.ts'
import { composeRefusal } from '../../http/refusal.ts'
import type { Amounts, Key } from '../../limiter/limiter.ts'
import { type Asked, ask, type Counts } from './ask.ts'
import type { KnownLimiter } from './known-limiters.ts'
import type { GateOptions } from './options.ts'
import type { Passage } from './passage.ts'
import type { Reader } from './reader.ts'
import { createTelling } from './telling.ts'
import { noteCount, type Warn } from './warnings.ts'

/** Asks a limiter about a request whose key and cost are known. */
export type Judge<Request> = (
  request: Request,
  known: KnownLimiter,
  key: Key<string>,
  cost: Amounts<string> | undefined,
) => Promise<Passage>

/** How a gate with these options asks and tells. */
export function createJudge<Request, Tier extends string>(
  options: GateOptions<Request, Tier>,
  reader: Reader<Request>,
  warn: Warn,
): Judge<Request> {
  const { id, countOnly, holdMs = 600_000 } = options
  const tell = createTelling(options, reader)
  const passageOf = (request: Request, known: KnownLimiter, key: Key<string>, { decision, finish }: Asked): Passage => {
    const refusal = decision.allowed ? undefined : composeRefusal(decision)
    const lines = tell(request, known, key, decision, refusal)
    return { decision, lines, refusal, finish: finish && settling(finish, warn) }
  }
  const passed = (
    request: Request,
    known: KnownLimiter,
    key: Key<string>,
    asked: Asked,
  ): Passage | Promise<Passage> => {
    known.sighting.asked++
    noteCount(reader.identity === undefined ? (request as object) : reader.identity(request), known.limiter, warn)
    const { delayMs } = asked.decision
    if (delayMs === 0) return passageOf(request, known, key, asked)
    return new Promise<void>((ring) => startTimer(undefined, delayMs, ring)).then(() =>
      passageOf(request, known, key, asked),
    )
  }
  return (request, known, key, cost) => {
    const question = { key, cost, id: id?.(request), counts: countsOf(countOnly, request), holdMs }
    return ask(known.limiter, known, question).then((asked) => passed(request, known, key, asked))
  }
}

function countsOf<Request>(countOnly: GateOptions<Request, string>['countOnly'], request: Request): Counts | undefined {
  if (countOnly === undefined) return undefined
  if (typeof countOnly === 'function') return (status) => countOnly(status, request)
  return countOnly === 'failed' ? isFailure : isSuccess
}

const isFailure: Counts = (status) => status >= 400
const isSuccess: Counts = (status) => status < 400

function settling(finish: NonNullable<Asked['finish']>, warn: Warn): NonNullable<Passage['finish']> {
  return (status) =>
    finish(status).then(
      () => {},
      (error) => warn('NOT_SETTLED', `what a request had taken could not be given back or counted: ${error}`),
    )
}
