import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import type { Terminal } from '../../src/cli/terminal/terminal.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { freePort } from '../servers/free-port.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { LIVE } from './live-reports.ts'

async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const live: RequestListener = (request, response) => {
  const isAsked = request.url === '/v1/live' && request.method === 'GET'
  response.writeHead(isAsked ? 200 : 500, { 'content-type': 'application/json' })
  response.end(JSON.stringify(isAsked ? LIVE : { error: { code: 'OTHER', message: `asked for ${request.url}` } }))
}

async function said(...args: string[]) {
  const terminal = recordingTerminal()
  const code = await run(['top', ...args], terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

describe('top in a pipe', () => {
  it('prints once, and ends', async () => {
    const { code, out, err } = await said('--url', await serving(live))
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('\n            1       30  api     user:7\n')
    expect(out).not.toContain('\u001b')
  })

  it('prints the report as JSON', async () => {
    const { code, out } = await said('--url', `${await serving(live)}/`, '--json')
    expect([code, JSON.parse(out)]).toEqual([0, LIVE])
  })

  it('sends the token, and only to the given address', async () => {
    const seen: (string | undefined)[] = []
    const elsewhere = await serving((request, response) => {
      seen.push(request.headers.authorization)
      response.end('{}')
    })
    const at = await serving((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(302, { location: elsewhere }).end()
    })
    const terminal = recordingTerminal({ env: { SLUICE_TOKEN: 'secret' } })
    expect(await run(['top', '--url', at], terminal)).toBe(1)
    expect(seen).toEqual(['Bearer secret'])
    expect(terminal.errors()).not.toContain('secret')
  })
})

describe('top tells', () => {
  it('that has no answer', async () => {
    const at = `http://127.0.0.1:${await freePort()}`
    expect(await said('--url', at)).toEqual({
      code: 1,
      out: '',
      err: `sluice: no service answers at ${at}: connection refused\n`,
    })
  })

  it('that there is no such host', async () => {
    expect((await said('--url', 'http://nowhere.invalid')).err).toMatch(
      /^sluice: no service answers at http:\/\/nowhere\.invalid: getaddrinfo/,
    )
  })

  it.each<[string, RequestListener, RegExp]>([
    ['hangs up', (request) => request.socket.destroy(), /^sluice: no service answers at http.*: /],
    ['is no Sluice', (_, response) => response.end('<html>'), /^sluice: http.* is not a Sluice service: status 200\n$/],
    ['has other JSON', (_, response) => response.end('null'), /is not a Sluice service: it sent no live report\n$/],
    [
      'refuses',
      (_, response) => response.writeHead(421).end('{"error":{"code":"MISDIRECTED","message":"not here"}}'),
      / says: not here \(MISDIRECTED\)\n$/,
    ],
    ['refuses without a word', (_, response) => response.writeHead(503).end('{}'), / says: {2}\(503\)\n$/],
  ])('that what answers %s', async (_, answer, message) => {
    const { code, err } = await said('--url', await serving(answer))
    expect(code).toBe(1)
    expect(err).toMatch(message)
  })

  it('that a length of time is none', async () => {
    expect(await said('--every', 'soon')).toMatchObject({
      code: 2,
      err: expect.stringContaining("a duration must look like '250ms'"),
    })
  })
})

describe('top at a terminal', () => {
  const interactive = (overrides: Partial<Terminal> = {}) => {
    let press: (key: string) => void = () => {}
    const ending = new AbortController()
    let isListening = false
    const keyboard = {
      ask: async () => '',
      onKey: (listener: (key: string) => void) => {
        press = listener
        isListening = true
        return () => {
          isListening = false
        }
      },
    }
    const terminal = recordingTerminal({
      isInteractive: true,
      keyboard,
      signal: ending.signal,
      rows: 24,
      columns: 80,
      ...overrides,
    })
    const frames = () => terminal.text().split('\u001b[H').slice(1)
    const drawnTimes = (count: number) =>
      waitUntil(async () => (frames().length >= count ? undefined : terminal.text()))
    return { terminal, frames, drawnTimes, press: (key: string) => press(key), isListening: () => isListening, ending }
  }

  it.each([['q'], ['Q'], ['\u0003']])(
    'draws anew without clearing, and gives the screen back when %j is pressed',
    async (key) => {
      const { terminal, frames, drawnTimes, press, isListening } = interactive()
      const done = run(['top', '--url', await serving(live), '--every', '10ms'], terminal)
      await drawnTimes(3)
      expect(isListening()).toBe(true)
      press('x')
      press(key)
      expect(await done).toBe(0)
      expect(terminal.text().startsWith('\u001b[?1049h\u001b[?25l')).toBe(true)
      expect(terminal.text().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true)
      expect(terminal.text()).not.toContain('\u001b[2J')
      expect(frames()[1]).toContain('user:7\u001b[K')
      expect(isListening()).toBe(false)
    },
  )

  it('ends on a signal, also without a keyboard', async () => {
    const { terminal, drawnTimes, ending } = interactive({ keyboard: undefined })
    const done = run(['top', '--url', await serving(live)], terminal)
    await drawnTimes(1)
    ending.abort()
    expect(await done).toBe(0)
  })

  it('goes on while the service does not answer, with the last report', async () => {
    let asked = 0
    const at = await serving((request, response) => {
      asked += 1
      if (asked === 2) request.socket.destroy()
      else live(request, response)
    })
    const { terminal, frames, drawnTimes, press } = interactive()
    const done = run(['top', '--url', at, '--every', '10ms'], terminal)
    await drawnTimes(4)
    press('q')
    expect(await done).toBe(0)
    expect(frames()[1]).toMatch(new RegExp(`^no service answers at ${at}`))
    expect(frames()[1]).toContain('user:7')
    expect(frames()[2]).not.toContain('no service answers')
  })

  it('--once prints there too', async () => {
    const { terminal } = interactive()
    expect(await run(['top', '--once', '--url', await serving(live)], terminal)).toBe(0)
    expect(terminal.text()).not.toContain('\u001b')
  })
})
