import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { ask } from '../service/ask.ts'
import { serving } from '../service/service-stage.ts'
import { findGateways, type GatewayName, type Gateways } from './find-gateways.ts'
import { startGateway } from './start-gateway.ts'

const TOKEN = 'THE-TOKEN-OF-SLUICE'
const CLIENT = { kind: 'ip', name: '127.0.0.1' }
const page = readFileSync(new URL('../../docs/gateways.md', import.meta.url), 'utf8')
const yaml = readFileSync(new URL('../../examples/gateways/policies.yaml', import.meta.url), 'utf8')

let gateways: Gateways
beforeAll(async () => {
  gateways = await findGateways()
}, 600_000)

interface Heard {
  readonly url: string | undefined
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** An application that keeps what it hears. */
async function startApplication(): Promise<{ readonly port: number; readonly heard: Heard[] }> {
  const heard: Heard[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      heard.push({ url: request.url, body, headers: request.headers })
      response.end('hello')
    })
  })
  onTestFinished(() => server.closeAllConnections())
  return { port: await listen(server), heard }
}

/** The service, an application, and the proxy between them. */
async function stage(name: GatewayName, options: { isOpen?: boolean; token?: string } = {}) {
  const { isOpen = false, token = TOKEN } = options
  const clock = manualClock(86_400_000)
  const [own, application] = await Promise.all([serving({ yaml, clock, token }), startApplication()])
  const places = { servicePort: own.port, applicationPort: application.port, isOpen }
  const gateway = { port: await startGateway(name, gateways, places) }
  const use = (cost: number) => {
    return own.post('/v1/consume', { policy: 'api', key: CLIENT, cost }, { authorization: `Bearer ${token}` })
  }
  return { ...own, clock, gateway, heard: application.heard, use }
}

/** A request that tries to choose its key, its cost and its idempotency key, by every way that the service reads. */
const SPOOFED = {
  method: 'POST',
  body: 'a body',
  headers: {
    host: 'shop.example',
    authorization: 'Bearer of-the-client',
    'x-sluice-key': 'someone',
    'x-sluice-key-user': 'someone',
    'x-sluice-cost': '50',
    'x-forwarded-for': '198.51.100.9',
    'idempotency-key': '1',
    // A proxy removes what this header names.
    connection: 'x-sluice-key',
  },
}
const SPOOFED_PATH = '/orders?key=someone&cost=50&idempotencyKey=idempotency-key&refuse=200'

/** The answer to a request as a terminal shows it, without what differs from run to run and from version to version. */
async function askAsText(port: number): Promise<string> {
  const [response] = (await once(get({ port, path: '/orders' }), 'response')) as [IncomingMessage]
  const { statusCode, statusMessage, rawHeaders } = response
  const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : []))
  const kept = lines.filter(
    (line) => !/^(date|server|via|connection|keep-alive|transfer-encoding|content-length):/i.test(line),
  )
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...kept, '', await text(response), ''].join('\n')
}

/** What the page shows of a proxy's answer. */
function readAnswer(name: GatewayName): string | undefined {
  const section = page.split(/^## /m).find((text) => name.startsWith(text.split('\n')[0]?.toLowerCase() ?? ''))
  return /```http\n([\s\S]*?)```/.exec(section ?? '')?.[1]
}

describe.each<GatewayName>(['nginx', 'caddy', 'haproxy', 'apache2'])('behind %s', (name) => {
  it('requests within the limit pass with RateLimit headers, and the rest get 429 before they reach the application', async () => {
    const { gateway, heard, use, clock } = await stage(name)
    await use(98)
    const passed = await ask(gateway, '/a?b=c', { headers: { host: 'shop.example' } })
    expect([passed.status, passed.body]).toEqual([200, 'hello'])
    expect(passed.headers).toMatchObject({ 'ratelimit-policy': '"api";q=100;w=60', ratelimit: '"api";r=1;t=60' })
    expect(passed.headers['retry-after']).toBeUndefined()
    expect(heard).toMatchObject([{ url: '/a?b=c', body: '', headers: { host: 'shop.example' } }])
    await use(1)
    const refused = await ask(gateway, '/a?b=c')
    expect(refused).toMatchObject({
      status: 429,
      headers: {
        'content-type': 'application/problem+json',
        'ratelimit-policy': '"api";q=100;w=60',
        ratelimit: '"api";r=0;t=60',
        'retry-after': '60',
      },
    })
    expect(JSON.parse(refused.body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Too Many Requests',
      status: 429,
    })
    expect(heard).toHaveLength(1)
    clock.advance(120_000)
    expect((await ask(gateway, '/')).status).toBe(200)
  })

  it('a refused request is answered as docs/gateways.md shows', async () => {
    const { gateway, use } = await stage(name)
    await use(100)
    // Each version of a proxy has an order of its own.
    const [told, shown] = [await askAsText(gateway.port), readAnswer(name)]
    expect(shown?.split('\n').toSorted()).toEqual(told.split('\n').toSorted())
  })

  it('exactly what is left passes, of many requests at once', async () => {
    const { gateway, heard, use } = await stage(name)
    await use(80)
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(gateway, '/')))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(20).fill(200), ...Array(10).fill(429)])
    expect(heard).toHaveLength(20)
  })

  it('no client chooses its key, its cost or its idempotency key', async () => {
    const { gateway, heard, use, remaining } = await stage(name)
    await use(98)
    for (const left of [1, 0]) {
      const { status, headers } = await ask(gateway, SPOOFED_PATH, SPOOFED)
      expect([status, headers.ratelimit]).toEqual([200, `"api";r=${left};t=60`])
    }
    expect((await ask(gateway, SPOOFED_PATH, SPOOFED)).status).toBe(429)
    expect(await remaining('api', 'someone')).toBe(100)
    expect(await remaining('api', { kind: 'ip', name: '198.51.100.9' })).toBe(100)
    // The application gets what the client sent, and not the token of the service.
    expect(heard).toHaveLength(2)
    expect(heard[0]).toMatchObject({ url: SPOOFED_PATH, body: 'a body' })
    expect(heard[0]?.headers).toMatchObject({ host: 'shop.example', authorization: 'Bearer of-the-client' })
  })

  it('a service that is down, or takes another token, lets nothing pass where closed is chosen', async () => {
    const { gateway, heard, service } = await stage(name, { token: 'another-token-of-sluice' })
    expect((await ask(gateway, '/', SPOOFED)).status).toBe(503)
    await service.close(0)
    expect((await ask(gateway, '/', SPOOFED)).status).toBe(503)
    expect(heard).toEqual([])
  })

  it('a service that is down, or takes another token, lets everything pass once where open is chosen', async () => {
    const { gateway, heard, service } = await stage(name, { isOpen: true, token: 'another-token-of-sluice' })
    for (const _ of ['another token', 'down']) {
      const { status, headers, body } = await ask(gateway, '/', SPOOFED)
      expect([status, body, headers.ratelimit]).toEqual([200, 'hello', undefined])
      await service.close(0)
    }
    expect(heard).toMatchObject([{ body: 'a body' }, { body: 'a body' }])
  })

  it('a limit still refuses where open is chosen, and no request makes the service seem down', async () => {
    const { gateway, heard, use } = await stage(name, { isOpen: true })
    await use(100)
    expect((await ask(gateway, '/')).status).toBe(429)
    expect((await ask(gateway, SPOOFED_PATH, SPOOFED)).status).toBe(429)
    expect(heard).toEqual([])
  })

  it('a service that takes requests and never answers is not waited for', async () => {
    const sockets = createTcpServer((socket) => {
      socket.on('error', () => {})
      onTestFinished(() => void socket.destroy())
    })
    const [servicePort, application] = await Promise.all([listen(sockets), startApplication()])
    const gateway = {
      port: await startGateway(name, gateways, { servicePort, applicationPort: application.port, isOpen: false }),
    }
    expect((await ask(gateway, '/')).status).toBe(503)
    expect(application.heard).toEqual([])
  })
})
