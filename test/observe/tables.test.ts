import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { instrument } from '../../src/observe/otel/instrument.ts'
import { collectMetrics } from '../../src/observe/prometheus/collect-metrics.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { everythingHappens } from './everything-happens.ts'
import { telemetry } from './telemetry.ts'

const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')

/** The cells of the rows whose first cell is `code` that matches. */
function rows(pattern: RegExp): string[][] {
  const lines = page.split('\n').filter((line) => line.startsWith('| `'))
  return lines
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
    .filter(([first]) => pattern.test(first as string))
}

describe('docs/observability.md', () => {
  it('has the metrics that a registry has, with their types and labels', async () => {
    const register = new Registry()
    await everythingHappens((limiter) => collectMetrics(limiter, { register }))
    const text = await register.metrics()
    const exported = register.getMetricsAsArray().map(({ name }) => {
      const type = new RegExp(`^# TYPE ${name} (\\w+)$`, 'm').exec(text)?.[1]
      const lines = text.split('\n').filter((line) => line.startsWith(name))
      const labels = lines.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, label]) => label as string))
      return [
        name,
        type,
        [...new Set(labels)]
          .filter((label) => label !== 'le')
          .sort()
          .join(', '),
      ]
    })
    const written = rows(/^`sluice_/).map(([name, type, labels]) => [
      (name as string).replaceAll('`', ''),
      type,
      (labels as string).replaceAll('`', '').split(', ').sort().join(', '),
    ])
    expect(written).toEqual(exported)
  })

  it('has the metrics that OpenTelemetry is given, with their units', async () => {
    const seen = telemetry()
    const { meterProvider, tracerProvider } = seen
    await everythingHappens((limiter) => void instrument(limiter as never, { meterProvider, tracerProvider }))
    const given = (await seen.metrics()).map(({ descriptor: { name, unit } }) => [name, unit])
    const written = rows(/^`sluice\./).filter((cells) => cells.length === 3)
    const named = written.map(([name, , unit]) => [name?.replaceAll('`', ''), unit?.replaceAll('`', '')])
    expect(named.sort()).toEqual(given.sort())
  })

  it('has all events, with what they carry', async () => {
    const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 1, window: 60_000 }) })
    let names = ''
    try {
      limiter.on('nothing' as 'decided', () => {})
    } catch (error) {
      names = (error as Error).message
    }
    const events = [...names.matchAll(/'(\w+)'/g)].map(([, name]) => name as string)
    const written = new Map(
      rows(/^`[a-z]+([A-Z]\w+)?`$/)
        .filter((cells) => cells.length === 3)
        .map(([name, , carried]) => [name, carried]),
    )
    expect(events).toHaveLength(14)
    for (const name of events) expect([...written.keys()]).toContain(`\`${name}\``)
    const heard = new Map<string, string>()
    for (const name of [
      'decided',
      'refused',
      'nearLimit',
      'charged',
      'refunded',
      'blocked',
      'unblocked',
      'reset',
    ] as const) {
      limiter.on(name, (event) => void heard.set(name, Object.keys(event).sort().join(', ')))
    }
    await limiter.consume('a')
    await limiter.consume('a')
    await limiter.charge('a')
    await limiter.refund('a')
    await limiter.block('a', 50)
    await limiter.unblock('a')
    await limiter.reset('a')
    expect(heard.size).toBe(8)
    for (const [name, carried] of heard) {
      expect(written.get(`\`${name}\``)?.replaceAll('`', '').split(', ').sort().join(', ')).toBe(carried)
    }
  })
})
