import { Counter, Registry } from 'prom-client'
import type { Limiter } from '../limiter/limiter.ts'
import { collectMetrics } from '../observe/prometheus/collect-metrics.ts'
import type { MetricsText } from './routes/report.ts'

/** What monitoring systems read. */
export interface Metrics extends MetricsText {
  /** Counts what a limiter does until the function that it returns is called. */
  watch(limiter: Limiter<string>): () => void
  /** Counts a response. `route` is one of a few: never what a client made up. */
  responded(route: string, status: number): void
}

/** Makes metrics of their own, apart from those of the process that the service may be part of. */
export function createMetrics(): Metrics {
  const register = new Registry()
  const responses = new Counter({
    name: 'sluice_http_requests_total',
    help: 'Requests to the service that were answered.',
    labelNames: ['route', 'status'],
    registers: [register],
  })
  return {
    contentType: register.contentType,
    text: () => register.metrics(),
    watch: (limiter) => collectMetrics(limiter, { register }),
    responded: (route, status) => responses.inc({ route, status }),
  }
}
