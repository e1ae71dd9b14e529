import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { Example } from './example.ts'

const BUDGET = 1_000

describe.each(['memory', 'redis'])('POST /chat of examples/express on %s', (kind) => {
  let redis: RunningServer | undefined
  let example: Example
  beforeAll(async () => {
    redis = kind === 'redis' ? await startServer() : undefined
    example = new Example('express', redis === undefined ? {} : { REDIS_URL: `redis://${redis.host}:${redis.port}` })
  })
  afterAll(async () => {
    expect(await example.stop()).toBe(0)
    await redis?.stop()
  })

  async function chat(user: string | undefined, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json', ...(user && { authorization: `Bearer ${user}` }) }
    return fetch(`${await example.url()}/chat`, { method: 'POST', headers, body: JSON.stringify(body) })
  }

  it('counts what the prompt and the answer took, and refunds the rest of the estimate', async () => {
    const response = await chat('luis', { prompt: 'Hello there', maxTokens: 500 })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ answer: 'You said: Hello there', used: 6, left: BUDGET - 6 })
    const next = await chat('luis', { prompt: 'one', maxTokens: 1 })
    expect(await next.json()).toEqual({ answer: 'You', used: 2, left: BUDGET - 8 })
  })

  it('reports no time to wait for more than a day’s budget, and takes nothing for it', async () => {
    const response = await chat('tom', { prompt: 'one', maxTokens: BUDGET })
    expect([response.status, response.headers.get('retry-after')]).toEqual([413, null])
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    expect(await response.json()).toMatchObject({ status: 413, 'violated-policies': ['tokens'] })
    expect(await (await chat('tom', { prompt: 'one', maxTokens: 1 })).json()).toMatchObject({ left: BUDGET - 2 })
  })

  it('refuses when the budget is used up, with the time to wait', async () => {
    const words = Array.from({ length: BUDGET - 10 }, () => 'word').join(' ')
    expect((await chat('max', { prompt: words, maxTokens: 10 })).status).toBe(200)
    const response = await chat('max', { prompt: 'one', maxTokens: 1 })
    expect(response.status).toBe(429)
    const seconds = Number(response.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(86_300)
    expect(seconds).toBeLessThanOrEqual(86_400)
  })

  it('refunds everything when the model fails', async () => {
    expect((await chat('kim', { prompt: 'break', maxTokens: 400 })).status).toBe(500)
    expect(await (await chat('kim', { prompt: 'one', maxTokens: 1 })).json()).toMatchObject({ left: BUDGET - 2 })
  })

  it('counts nothing without a user or without a prompt', async () => {
    expect((await chat(undefined, { prompt: 'one' })).status).toBe(401)
    for (const body of [{}, { prompt: 'one', maxTokens: 0 }]) expect((await chat('zoe', body)).status).toBe(400)
    expect(await (await chat('zoe', { prompt: 'one', maxTokens: 1 })).json()).toMatchObject({ left: BUDGET - 2 })
  })
})
