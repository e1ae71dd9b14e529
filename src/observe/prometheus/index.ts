export { collectMetrics, type MetricsOptions } from './collect-metrics.ts'
