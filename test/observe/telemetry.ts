import type { Attributes } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'

/** The SDK of OpenTelemetry with exporters that keep what they are given. */
export interface Telemetry {
  readonly meterProvider: MeterProvider
  readonly tracerProvider: BasicTracerProvider
  /** The spans that have ended, in that order. */
  spans(): readonly ReadableSpan[]
  /** The metrics as they are now. */
  metrics(): Promise<readonly MetricData[]>
  /** The values of a metric with their attributes. */
  values(name: string): Promise<readonly (readonly [Attributes, unknown])[]>
}

/** A new one, that reports everything so far, or only what is new. */
export function telemetry(told: 'so-far' | 'new' = 'so-far'): Telemetry {
  const { CUMULATIVE, DELTA } = AggregationTemporality
  const kept = new InMemoryMetricExporter(told === 'new' ? DELTA : CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: kept, exportIntervalMillis: 3_600_000 })
  const spans = new InMemorySpanExporter()
  const meterProvider = new MeterProvider({ readers: [reader] })
  const metrics = async (): Promise<readonly MetricData[]> => {
    kept.reset()
    await meterProvider.forceFlush()
    return kept.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  }
  return {
    meterProvider,
    tracerProvider: new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
    spans: () => spans.getFinishedSpans(),
    metrics,
    async values(name) {
      const found = (await metrics()).filter(({ descriptor }) => descriptor.name === name)
      return found.flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => [attributes, value] as const))
    },
  }
}
