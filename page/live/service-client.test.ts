import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import type { LiveTier } from '../../src/observe/live-report.ts'
import { composeConsumeRequest, ServiceClient } from './service-client.ts'

const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function createClient(
  serve: (request: IncomingMessage, response: ServerResponse, body: string) => void,
  longestMs?: number,
): Promise<ServiceClient> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    serve(request, response, body)
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return new ServiceClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, longestMs)
}

it('asks for the report without a token when there is none', async () => {
  const client = await createClient(({ method, url, headers }, response) => {
    response.end(JSON.stringify({ method, url, authorization: headers.authorization ?? null }))
  })
  expect(await client.live(undefined)).toEqual({
    kind: 'told',
    value: { method: 'GET', url: '/v1/live', authorization: null },
  })
})

it('sends a question as JSON, and the token as a header', async () => {
  const client = await createClient(({ method, url, headers }, response, body) => {
    const { authorization, 'content-type': type } = headers
    response.end(JSON.stringify({ method, url, authorization, type, body: JSON.parse(body) }))
  })
  const question = { policy: 'api', key: 'user:42', cost: 2 }
  expect(await client.consume(question, 'secret')).toEqual({
    kind: 'told',
    value: {
      method: 'POST',
      url: '/v1/consume',
      authorization: 'Bearer secret',
      type: 'application/json',
      body: question,
    },
  })
})

it('says that it is locked when the token is missing or wrong', async () => {
  const client = await createClient((_request, response) => response.writeHead(401).end('{}'))
  expect(await client.live('wrong')).toEqual({ kind: 'locked' })
})

it("gives the service's own words for a failure", async () => {
  const client = await createClient((_request, response) => {
    response.writeHead(404).end(JSON.stringify({ error: { code: 'UNKNOWN_POLICY', message: 'unknown policy "x"' } }))
  })
  expect(await client.live(undefined)).toEqual({ kind: 'failed', why: 'unknown policy "x"' })
})

it('gives the status when there are no words', async () => {
  const client = await createClient((_request, response) => response.writeHead(502).end('<html>'))
  expect(await client.live(undefined)).toEqual({ kind: 'failed', why: 'the service answered with status 502' })
})

it('says so when no answer comes', async () => {
  expect(await new ServiceClient('http://127.0.0.1:1').live(undefined)).toEqual({
    kind: 'failed',
    why: 'the service does not answer',
  })
})

it('says so when the answer takes too long', async () => {
  const client = await createClient(() => {}, 20)
  expect(await client.live(undefined)).toEqual({ kind: 'failed', why: 'no answer within 20 ms' })
})

const tier = (name: string): LiveTier => ({
  name,
  kind: 'gcra',
  limit: 1,
  parameters: {},
  isShadow: false,
  isPrefetched: false,
  refused: 0,
  near: 0,
})
const policy = (...names: string[]) => ({ name: 'api', tiers: names.map(tier), allowed: 0, refused: 0 })

it('asks about one key under a policy of one rule', () => {
  expect(composeConsumeRequest(policy('api'), { api: 'user:42' }, '3')).toEqual({
    policy: 'api',
    key: 'user:42',
    cost: 3,
  })
})

it('asks about a key for each tier, also one that is not filled in', () => {
  expect(composeConsumeRequest(policy('user', 'ip'), { user: '42', other: 'x' }, '1')).toEqual({
    policy: 'api',
    key: { user: '42', ip: '' },
    cost: 1,
  })
})
