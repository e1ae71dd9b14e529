import { type Attributes, type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { show } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import { describeError } from '../../core/describe-error.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { Key } from '../../limiter/options.ts'
import { formatKey } from '../format-key.ts'
import { type InSpan, type SpannedCall, withSpans } from './with-spans.ts'

/** What the spans of a limiter are made with. */
export interface SpanSettings {
  readonly tracer: Tracer
  readonly recordKeys: boolean
}

/** The limiter with a span around every call that asks the store, also those of the holds and leases that it gives. */
export function wrapInSpans<Tier extends string>(
  limiter: Limiter<Tier>,
  { tracer, recordKeys }: SpanSettings,
  close: () => Promise<void>,
): Limiter<Tier> {
  const tiers = Object.keys(limiter.rules)
  const spansFor = (attributesFor: (args: readonly unknown[]) => Attributes): InSpan => {
    return (name, call, args, run) => {
      return tracer.startActiveSpan(`sluice.${name}`, async (span) => {
        if (span.isRecording()) {
          span.setAttributes({ 'sluice.limiter': limiter.name, ...attributesFor(args), ...composeAmounts(call, args) })
        }
        return settle(span, call, args, run)
      })
    }
  }
  const composeKey = ([key]: readonly unknown[]): Attributes =>
    recordKeys ? { 'sluice.key': describeKey(key, tiers) } : {}
  const withEndings = (held: object, args: readonly unknown[]): object => {
    return withSpans(
      held,
      ENDINGS,
      spansFor(() => composeKey(args)),
    )
  }
  const calls = {
    ...CALLS,
    reserve: { amount: inOptions('estimate'), answer: withEndings },
    acquire: { amount: inOptions('cost'), answer: withEndings },
  }
  const resumeReservation = (token: string): object =>
    withSpans(
      limiter.resumeReservation(token),
      ENDINGS,
      spansFor(() => ({})),
    )
  return withSpans(limiter, calls, spansFor(composeKey), { resumeReservation, close, [Symbol.asyncDispose]: close })
}

const CALLS: Readonly<Record<string, SpannedCall>> = {
  consume: { amount: inOptions('cost') },
  peek: { amount: inOptions('cost') },
  wait: { amount: inOptions('cost') },
  schedule: { amount: ([, , options]) => readCost(options, 'cost') },
  charge: { amount: ([, amount]) => amount ?? 1 },
  refund: { amount: ([, amount]) => amount ?? 1 },
  block: {},
  unblock: {},
  reset: {},
}

const ENDINGS: Readonly<Record<string, SpannedCall>> = {
  settle: { amount: ([used]) => used },
  cancel: {},
  renew: {},
  release: {},
}

function inOptions(name: string): (args: readonly unknown[]) => unknown {
  return ([, options]) => readCost(options, name)
}

function readCost(options: unknown, name: string): unknown {
  return (options as Readonly<Record<string, unknown>> | null | undefined)?.[name] ?? 1
}

async function settle(
  span: Span,
  { answer: answerFor }: SpannedCall,
  args: readonly unknown[],
  run: () => unknown,
): Promise<unknown> {
  try {
    const answer = (await run()) as object
    if (span.isRecording()) span.setAttributes(composeDecisionAttributes(answer))
    return answerFor === undefined ? answer : answerFor(answer, args)
  } catch (error) {
    span.recordException(error instanceof Error ? error : String(error))
    span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error) })
    throw error
  } finally {
    span.end()
  }
}

/** A decision, or what was given with one: a hold, a lease, or what came of a scheduled function. */
function composeDecisionAttributes(answer: object): Attributes {
  const decision = 'decision' in answer ? (answer.decision as Decision) : (answer as Decision)
  const { allowed, reason, limitedBy, decidedBy, limit, remaining, wouldRefuse } = decision
  return {
    'sluice.allowed': allowed,
    'sluice.decided_by': decidedBy,
    'sluice.limit': limit,
    'sluice.remaining': remaining,
    ...(reason !== undefined && { 'sluice.reason': reason }),
    ...(limitedBy !== undefined && { 'sluice.limited_by': limitedBy }),
    ...(wouldRefuse.length > 0 && { 'sluice.would_refuse': [...wouldRefuse] }),
  }
}

function composeAmounts({ amount }: SpannedCall, args: readonly unknown[]): Attributes {
  const given = amount?.(args)
  if (typeof given === 'number') return { 'sluice.cost': given }
  if (typeof given !== 'object' || given === null) return {}
  const attributes: Attributes = {}
  for (const [tier, cost] of Object.entries(given)) {
    if (typeof cost === 'number') attributes[`sluice.cost.${tier}`] = cost
  }
  return attributes
}

function describeKey(key: unknown, tiers: readonly string[]): string {
  try {
    return formatKey(key as Key<string>, tiers)
  } catch {
    // What is no key is refused by the limiter, and shown here as there.
    return show(key)
  }
}
