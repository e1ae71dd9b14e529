import { Counter, Registry } from 'prom-client'
import type { Limiter } from '../limiter/limiter.ts'
import { collectMetrics } from '../observe/prometheus/collect-metrics.ts'

/** What monitoring systems read. */
export interface Metrics {
  readonly contentType: string
  text(): Promise<string>
  /** Counts what a limiter does until the function that it returns is called. */
  watch(limiter: Limiter<string>): () => void
  /** Counts an answer. `route` is one of a few: never what a client made up. */
  answered(route: string, status: number): void
}

/** Makes metrics of their own, apart from those of the process that the service may be part of. */
export function createMetrics(): Metrics {
  const register = new Registry()
  const answers = new Counter({
    name: 'sluice_http_requests_total',
    help: 'Requests to the service that were answered.',
    labelNames: ['route', 'status'],
    registers: [register],
  })
  return {
    contentType: register.contentType,
    text: () => register.metrics(),
    watch: (limiter) => collectMetrics(limiter, { register }),
    answered: (route, status) => answers.inc({ route, status }),
  }
}
