import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import { knownOptions, show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { assertLimiter } from '../watched-limiter.ts'
import { wrapInSpans } from './in-spans.ts'
import { meterLimiter } from './meter-limiter.ts'

/** Options of `instrument`. */
export interface InstrumentOptions {
  /** @default the global one */
  readonly meterProvider?: MeterProvider
  /** @default the global one */
  readonly tracerProvider?: TracerProvider
  /**
   * Whether spans name the key, which may be the name or address of a person.
   * @default false
   */
  readonly recordKeys?: boolean
}

/**
 * The same limiter, with a span under the active one for every call that asks the store, and metrics of what it decides. Use it in
 * place of the limiter. Closing it closes the limiter, and ends the metrics.
 */
export function instrument<Tier extends string = never>(
  limiter: Limiter<Tier>,
  options: InstrumentOptions = {},
): Limiter<Tier> {
  knownOptions('instrument()', options, ['meterProvider', 'tracerProvider', 'recordKeys'])
  assertLimiter('instrument()', limiter)
  const { meterProvider = metrics.getMeterProvider(), tracerProvider = trace.getTracerProvider() } = options
  const { recordKeys = false } = options
  if (typeof recordKeys !== 'boolean') {
    throw new LimiterError('INVALID_OPTION', `recordKeys must be true or false, got ${show(recordKeys)}`)
  }
  const stop = meterLimiter(limiter, meterProvider)
  return wrapInSpans(limiter, { tracer: tracerProvider.getTracer('sluice'), recordKeys }, () => {
    stop()
    return limiter.close()
  })
}
