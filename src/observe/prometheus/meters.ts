import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { COUNTS, HEALTHY, type Meters, mapMeasures, STEPS, TIMES } from '../measures.ts'
import type { WatchedLimiter } from '../watched-limiter.ts'

/** Meters that are metrics of a registry: those that are there, and new ones otherwise. */
export function createMeters(register: Registry, prefix: string, buckets: readonly number[] | undefined): Meters {
  const counters = mapMeasures(COUNTS, (name, { help, labels }) => {
    const known = register.getSingleMetric(counterName(prefix, name))
    const settings = { name: counterName(prefix, name), help, labelNames: labels, registers: [register] }
    return (known as Counter | undefined) ?? new Counter(settings)
  })
  const histograms = mapMeasures(TIMES, (name, { help, labels }) => {
    const known = register.getSingleMetric(timeName(prefix, name))
    const steps = (name === 'decision.duration' ? buckets : undefined) ?? STEPS[name]
    const settings = {
      name: timeName(prefix, name),
      help,
      labelNames: labels,
      registers: [register],
      buckets: [...steps],
    }
    return (known as Histogram | undefined) ?? new Histogram(settings)
  })
  return {
    count: (name, labels, by) => counters[name].inc(labels, by),
    time: (name, labels, seconds) => histograms[name].observe(labels, seconds),
  }
}

const watchedBy = new WeakMap<object, Set<WatchedLimiter>>()

/** The gauge of a registry that says how the stores of the watched limiters are when it is read. */
export function ensureHealthGauge(register: Registry, prefix: string): { readonly watched: Set<WatchedLimiter> } {
  const name = plainName(prefix, HEALTHY.name)
  const known = register.getSingleMetric(name)
  const watched = (known && watchedBy.get(known)) ?? new Set<WatchedLimiter>()
  if (known !== undefined) return { watched }
  const gauge = new Gauge({
    name,
    help: HEALTHY.help,
    labelNames: HEALTHY.labels,
    registers: [register],
    // Of several processes, one without its store is enough for an alert.
    aggregator: 'min',
    collect() {
      this.reset()
      for (const limiter of watched) {
        const { state } = limiter.health
        this.set({ limiter: limiter.name }, state === 'healthy' ? 1 : 0)
      }
    },
  })
  watchedBy.set(gauge, watched)
  return { watched }
}

function counterName(prefix: string, name: string): string {
  return `${plainName(prefix, name)}_total`
}

function timeName(prefix: string, name: string): string {
  return `${plainName(prefix, name)}_seconds`
}

function plainName(prefix: string, name: string): string {
  return `${prefix}_${name.replaceAll('.', '_')}`
}
