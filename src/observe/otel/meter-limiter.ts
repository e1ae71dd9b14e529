import type { Attributes, MeterProvider } from '@opentelemetry/api'
import { COUNTS, HEALTHY, type Labels, mapMeasures, measure, STEPS, TIMES } from '../measures.ts'
import type { WatchedLimiter } from '../watched-limiter.ts'

/** Measures a limiter with the meter of a provider, until the function that it returns is called. */
export function meterLimiter(limiter: WatchedLimiter, provider: MeterProvider): () => void {
  const meter = provider.getMeter('sluice')
  const counters = mapMeasures(COUNTS, (name, { help, unit }) => {
    return meter.createCounter(`sluice.${name}`, { description: help, unit: `{${unit}}` })
  })
  const histograms = mapMeasures(TIMES, (name, { help }) => {
    const advice = { explicitBucketBoundaries: [...STEPS[name]] }
    return meter.createHistogram(`sluice.${name}`, { description: help, unit: 's', advice })
  })
  const stop = measure(limiter, {
    count: (name, labels, by) => counters[name].add(by, composeAttributes(labels)),
    time: (name, labels, seconds) => histograms[name].record(seconds, composeAttributes(labels)),
  })
  const gauge = meter.createObservableGauge(`sluice.${HEALTHY.name}`, { description: HEALTHY.help, unit: '1' })
  const observe = (result: { observe(value: number, attributes: Attributes): void }): void => {
    result.observe(limiter.health.state === 'healthy' ? 1 : 0, composeAttributes({ limiter: limiter.name }))
  }
  gauge.addCallback(observe)
  return () => {
    stop()
    gauge.removeCallback(observe)
  }
}

function composeAttributes(labels: Labels): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(labels)) attributes[`sluice.${name}`] = value
  return attributes
}
