import type { Registry } from 'prom-client'
import { type OpenMetricsContentType, register as ownRegister, type PrometheusContentType } from 'prom-client'
import { invalidOption, knownOptions } from '../../core/check.ts'
import { measure } from '../measures.ts'
import { assertLimiter, type WatchedLimiter } from '../watched-limiter.ts'
import { createMeters, ensureHealthGauge } from './meters.ts'

/** Options of `collectMetrics`. */
export interface MetricsOptions {
  /**
   * Where the metrics are registered.
   * @default the registry that prom-client calls `register`
   */
  readonly register?: Registry<PrometheusContentType> | Registry<OpenMetricsContentType>
  /**
   * What the names of the metrics begin with.
   * @default 'sluice'
   */
  readonly prefix?: string
  /**
   * The upper bounds of the scale of decision times, in seconds. Those of the first call count, for all limiters of a registry.
   * @default 10 µs to 1 s
   */
  readonly buckets?: readonly number[]
}

/**
 * Counts the decisions of limiters in metrics of prom-client, until you call the function that it returns.
 * Limiters may be added to a registry at any time, and each is counted once.
 */
export function collectMetrics(
  limiters: WatchedLimiter | readonly WatchedLimiter[],
  options: MetricsOptions = {},
): () => void {
  knownOptions('collectMetrics()', options, ['register', 'prefix', 'buckets'])
  const { prefix = 'sluice', buckets } = options
  if (typeof prefix !== 'string' || !/^[a-z_]\w*$/i.test(prefix)) {
    throw invalidOption('prefix', 'letters, digits and underscores that do not begin with a digit', prefix)
  }
  const given: readonly WatchedLimiter[] = [limiters].flat()
  for (const limiter of given) assertLimiter('collectMetrics()', limiter)
  const register = (options.register ?? ownRegister) as Registry
  const meters = createMeters(register, prefix, buckets)
  const { watched } = ensureHealthGauge(register, prefix)
  const stops = given.flatMap((limiter) => {
    if (watched.has(limiter)) return []
    watched.add(limiter)
    return [measure(limiter, meters), () => void watched.delete(limiter)]
  })
  return () => {
    for (const stop of stops.splice(0)) stop()
  }
}
