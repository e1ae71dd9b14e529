import { writeFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { said } from './key-stage.ts'
import { writePolicies } from './policy-file.ts'

// Names come from files, requests and Redis, and may hold what a terminal obeys.

const NASTY = 'a\u001b[2J\u007f\u009b\n\u202eb'
const SHOWN = 'a\\u001b[2J\\u007f\\u009b\\n\\u202eb'
/** In YAML and JSON the same. */
const quoted = (text: string) =>
  JSON.stringify(text).replaceAll(/[\u007f-\u009f\u202e]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
const POLICIES = `policies:
  ${quoted(NASTY)}:
    tiers:
      ${quoted(`t${NASTY}`)}: { rule: fixed-window, limit: 5, window: 1m }
      ip: { rule: fixed-window, limit: 5, window: 1m }
`

const expectPrintable = (text: string) => {
  expect(text).toContain(SHOWN)
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
}

/** `sluice serve` as a person sees it. */
const serving = async (file: string) => {
  const ending = new AbortController()
  const terminal = recordingTerminal({ signal: ending.signal, env: { SLUICE_TOKEN: 'correct-horse-battery-staple' } })
  const ended = run(['serve', '--port', '0', '--policies', file], terminal)
  onTestFinished(async () => {
    ending.abort()
    await ended
  })
  await waitUntil(async () => (terminal.text().includes('Ctrl-C') ? undefined : terminal.errors()))
  return { terminal, url: /http:\/\/127\.0\.0\.1:\d+/.exec(terminal.text())?.[0] as string }
}

describe('what a terminal would obey is escaped', () => {
  it('in the greeting, whose example asks for the same policy, and in the log', async () => {
    const file = await writePolicies(POLICIES)
    const { terminal } = await serving(file)
    expectPrintable(terminal.text())
    expect(terminal.text()).toContain(`t${SHOWN}  fixed-window`)
    const body = /-d '(.*)'\n/.exec(terminal.text())?.[1] as string
    expect(JSON.parse(body).policy).toBe(NASTY)
    await writeFile(file, POLICIES.replace('limit: 5', 'limit: 6'))
    await waitUntil(async () => (terminal.errors().includes('in force') ? undefined : terminal.errors()))
    expectPrintable(terminal.errors())
    await writeFile(file, `policies: { "\\u009b${SHOWN}": 1 }`)
    await waitUntil(async () => (terminal.errors().includes('has mistakes') ? undefined : terminal.errors()))
    expectPrintable(terminal.errors())
  })

  it('in what inspect and reset say of a service', async () => {
    const { url } = await serving(await writePolicies(POLICIES))
    const token = await writePolicies('correct-horse-battery-staple', 'token.txt')
    const at = ['--url', url, '--policy', NASTY, '--token-file', token]
    for (const args of [['inspect'], ['inspect', '--json'], ['reset'], ['reset', '--json']]) {
      const { code, out, err } = await said(...args, NASTY, ...at)
      expect([code, err]).toEqual([0, ''])
      expectPrintable(out)
    }
    const unknown = await said('inspect', 'x', '--url', url, '--policy', `x${NASTY}`)
    expectPrintable(unknown.err)
  })

  it('in what reset asks', async () => {
    const { url } = await serving(await writePolicies(POLICIES))
    const asked: string[] = []
    const keyboard = {
      ask: async (question: string) => {
        asked.push(question)
        return 'n'
      },
      onKey: () => () => {},
    }
    const terminal = recordingTerminal({ keyboard, env: { SLUICE_TOKEN: 'correct-horse-battery-staple' } })
    expect(await run(['reset', NASTY, '--url', url, '--policy', NASTY], terminal)).toBe(1)
    expectPrintable(asked.join(''))
  })

  it.each(['table', 'chart', 'json'])('in what simulate tells as %s', async (format) => {
    const file = await writePolicies(POLICIES)
    const { code, out } = await said('simulate', '--policies', file, '--duration', '1m', '--format', format)
    expect(code).toBe(0)
    expectPrintable(out)
  })

  it('in a picture, which would be no XML otherwise', async () => {
    const { drawPicture } = await import('../../src/cli/simulate/picture.ts')
    expectPrintable(drawPicture([], NASTY))
  })

  it('in errors', async () => {
    const { code, err } = await said(
      'inspect',
      'x',
      '--policies',
      await writePolicies(POLICIES),
      '--policy',
      `x${NASTY}`,
    )
    expect(code).toBe(2)
    expectPrintable(err)
  })
})
