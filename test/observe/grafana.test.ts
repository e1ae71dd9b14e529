import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { beforeAll, describe, expect, it } from 'vitest'
import { collectMetrics } from '../../src/observe/prometheus/collect-metrics.ts'
import { everythingHappens } from './everything-happens.ts'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: unknown
  readonly targets?: readonly { readonly expr: string; readonly datasource: unknown; readonly legendFormat: string }[]
}

interface Dashboard {
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string | { query: string } }[]
  }
}

const dashboard = JSON.parse(readFileSync(new URL('../../grafana/sluice.json', import.meta.url), 'utf8')) as Dashboard
const panels = dashboard.panels.filter(({ type }) => type !== 'row')
const questions = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
)

/** The series of a registry in which everything has happened: names and labels. */
let series: readonly { readonly name: string; readonly labels: Readonly<Record<string, string>> }[]
beforeAll(async () => {
  const register = new Registry()
  await everythingHappens((limiter) => collectMetrics(limiter, { register }))
  const lines = (await register.metrics()).matchAll(/^(\w+)\{(.*)\} \S+$/gm)
  series = [...lines].map(([, name, labels]) => ({
    name: name as string,
    labels: Object.fromEntries(
      [...(labels as string).matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    ),
  }))
})

/** The series that a selector such as `sluice_cost_total{limiter=~"$limiter",outcome="allowed"}` selects, with all limiters chosen. */
function selected(selector: string): typeof series {
  const [, name, matchers] = /^(\w+)\{(.*)\}$/.exec(selector) as unknown as [string, string, string]
  const wanted = matchers
    .split(',')
    .map((matcher) => /^(\w+)(=~|=)"(.*)"$/.exec(matcher) as unknown as [string, string, string, string])
  return series.filter((one) => {
    if (one.name !== name) return false
    return wanted.every(([, label, operator, value]) => {
      const given = one.labels[label] ?? ''
      return operator === '=' ? given === value : new RegExp(`^${value.replace('$limiter', '.*')}$`).test(given)
    })
  })
}

describe('the dashboard', () => {
  it('is of a form that Grafana imports', () => {
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(39)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana puts what was chosen there.
    const source = { type: 'prometheus', uid: '${datasource}' }
    for (const { datasource, targets = [] } of panels) {
      expect([datasource, ...targets.map((target) => target.datasource)]).toEqual(
        Array(targets.length + 1).fill(source),
      )
    }
    const ids = dashboard.panels.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('puts no panel over another', () => {
    const taken = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    )
    expect(new Set(taken).size).toBe(taken.length)
    expect(Math.max(...dashboard.panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
  })

  it('lets people choose the source and the limiters', () => {
    const [source, limiter] = dashboard.templating.list
    expect([source?.name, source?.query]).toEqual(['datasource', 'prometheus'])
    expect(limiter?.name).toBe('limiter')
    const asked = (limiter?.query as { query: string } | undefined)?.query ?? ''
    const [, name, label] = /^label_values\((\w+), (\w+)\)$/.exec(asked) as unknown as [string, string, string]
    expect(series.filter((one) => one.name === name && label in one.labels).length).toBeGreaterThan(0)
  })

  it('has a question for each panel', () => {
    expect(questions.length).toBeGreaterThanOrEqual(panels.length)
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  })

  it.each(questions)('$title asks for what is there: $expr', ({ expr, legendFormat }) => {
    const selectors = expr.match(/sluice_\w+(\{[^}]*\})?/g) as string[]
    const [first] = selectors.map((selector) => {
      const found = selected(selector)
      expect(selector).toContain('limiter=~"$limiter"')
      expect(found, selector).not.toEqual([])
      return found
    })
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels]) => (labels as string).split(', '))
    for (const label of grouped)
      expect(
        first?.some(({ labels }) => label in labels),
        label,
      ).toBe(true)
    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string)
    for (const label of named) expect(grouped).toContain(label)
  })

  it('shows every metric that there is', () => {
    const asked = questions.map(({ expr }) => expr).join(' ')
    const names = new Set(series.map(({ name }) => name.replace(/_(bucket|sum|count)$/, '')))
    expect(names.size).toBe(14)
    for (const name of names) expect(asked).toContain(name)
  })
})
