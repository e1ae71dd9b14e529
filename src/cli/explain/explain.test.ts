import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { recordingTerminal } from '../../../test/recording-terminal.ts'
import { run } from '../program.ts'
import { EXPLANATIONS, summarize } from './explanations.ts'
import { formatSection } from './format-section.ts'

async function explain(args: readonly string[], columns = 100) {
  const terminal = recordingTerminal({ columns })
  const code = await run(['explain', ...args], terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

const codesOf = (page: string): string[] => {
  const text = readFileSync(new URL(`../../../docs/${page}.md`, import.meta.url), 'utf8')
  return [...text.matchAll(/^## ([A-Z_]+)$/gm)].map(([, code]) => code as string)
}

describe('explain', () => {
  it('prints the section of a code', async () => {
    expect(await explain(['LIMITER_CLOSED'])).toEqual({
      code: 0,
      out: 'LIMITER_CLOSED, an error\n\nA call on a limiter after `close()`, or after the end of its `await using` block.\n',
      err: '',
    })
  })

  it('finds a code in small letters', async () => {
    expect(await explain(['limiter_closed'])).toEqual(await explain(['LIMITER_CLOSED']))
  })

  it('prints both sections of a code that is an error and a warning', async () => {
    const { out } = await explain(['STORE_DENIED'])
    expect(out).toMatch(/^STORE_DENIED, an error\n\n[\s\S]+\n\nSTORE_DENIED, a warning\n\n/)
  })

  it('lists every code of both pages, a line each, none longer than the terminal', async () => {
    const { code, out, err } = await explain([], 80)
    const lines = out.trimEnd().split('\n')
    expect([code, err]).toEqual([0, ''])
    expect(lines.map((line) => line.split(' ')[0])).toEqual([...codesOf('errors'), ...codesOf('warnings')])
    expect(lines.filter((line) => line.length > 80)).toEqual([])
  })

  it('suggests the nearest code and lists all of them', async () => {
    const { code, out, err } = await explain(['STORE_DENIE'])
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(
      /^sluice: unknown code "STORE_DENIE", did you mean "STORE_DENIED"\?\nthe codes are INVALID_OPTION, .*, NOT_SETTLED, TIERS_SHARE_KEY, UNUSABLE_KEY, RESOLVE_RULE_FAILED, STORE_DEGRADED, CLIENT_ERROR\n$/,
    )
    expect((await explain(['E404'])).err).toMatch(/^sluice: unknown code "E404"\nthe codes are /)
  })

  it.each(EXPLANATIONS)('$code, $kind: has a summary and fits a terminal of 60 columns', (explanation) => {
    expect(summarize(explanation)).toMatch(/^[\w(].{15,}[\w)"]$/)
    const lines = formatSection(explanation.section, 60).split('\n')
    expect(lines.filter((line) => line.length > 60 && line.trim().includes(' ', 2))).toEqual([])
    expect(lines.join('\n')).not.toMatch(/\]\(|\*\*|^\|/m)
  })
})

describe('a section', () => {
  it.each([
    ['wraps a paragraph', 'one two\nthree four', 'one two three\nfour'],
    ['shows a link as its text', 'see [the page](a.md#b)', 'see the page'],
    ['keeps the items of a list', '- one two three\n  four\n- **five**', '- one two\n  three four\n- five'],
    ['shows a table as a list', '| a | b |\n| - | - |\n| `x` | one |\n| y | |', '- `x`: one\n- y'],
    ['keeps code as it is', '```ts\nlet a = 1 // longer\n\nb\n```', '  let a = 1 // longer\n  \n  b'],
    ['keeps blocks apart', 'one\n\n- two\n\n\nthree', 'one\n\n- two\n\nthree'],
  ])('%s', (_title, markdown, text) => {
    expect(formatSection(markdown, 13)).toBe(text)
  })
})
