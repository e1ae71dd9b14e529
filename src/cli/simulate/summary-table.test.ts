import { expect, it } from 'vitest'
import { formatSummary, type ShownSummary } from './summary-table.ts'

const listCells = (rule: ShownSummary): readonly string[][] => {
  const [heading = '', row = ''] = formatSummary([rule]).split('\n')
  return [heading, row].map((line) => line.split(/ {2,}/))
}

const exactly = { accuracy: 1, admittedByExact: 1 }
const rule: ShownSummary = {
  name: 'sliding-log',
  kind: 'sliding-log',
  byTraffic: { poisson: exactly, bursts: exactly, adversary: { accuracy: 0.754, admittedByExact: 1.98765 } },
  worstOverLimit: 1,
  burstOverLimit: 0.5,
  bytesPerKey: [16, 1_600],
  nanosecondsPerDecision: [250.4, 250.2],
}

it('reports one number where the limit makes no difference, and two where it does', () => {
  expect(listCells(rule)).toEqual([
    ['rule', 'poisson', 'bursts', 'adversary', 'worst', 'burst', 'bytes', 'ns', 'for'],
    [
      'sliding-log',
      '100 %, 1.00×',
      '100 %, 1.00×',
      '75 %, 1.99×',
      '1.00×',
      '0.50×',
      '16 → 1,600',
      '250',
      'a hard ceiling, exact, small limits',
    ],
  ])
})

it('leaves out what was not measured, and says nothing of a rule that it does not know', () => {
  const { nanosecondsPerDecision: _, ...unmeasured } = rule
  const [heading, row] = listCells({ ...unmeasured, name: 'new', nanosecondsPerDecision: undefined })
  expect(heading).toEqual(['rule', 'poisson', 'bursts', 'adversary', 'worst', 'burst', 'bytes'])
  expect(row).toHaveLength(7)
})
