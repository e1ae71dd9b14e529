import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import { knownOptions, trueOrFalse } from '../../core/check.ts'
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
  const recordKeys = trueOrFalse('recordKeys', options.recordKeys ?? false)
  const stop = meterLimiter(limiter, meterProvider)
  return wrapInSpans(limiter, { tracer: tracerProvider.getTracer('sluice'), recordKeys }, () => {
    stop()
    return limiter.close()
  })
}
