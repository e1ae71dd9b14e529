import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { Example } from './example.ts'
import { awayFromWindowEdge } from './window-edge.ts'

const BUDGET = 1_000
const REQUESTS = 5

interface Reply {
  readonly object: string
  readonly choices: readonly {
    finish_reason: string | null
    message?: { content: string }
    delta?: { content?: string }
  }[]
  readonly usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
  readonly error?: { message: string; type: string; code: string | null }
}

class Chat extends Example {
  constructor(env: Readonly<Record<string, string>>) {
    super('chat', { REQUESTS_PER_MINUTE: `${REQUESTS}`, TOKENS_PER_DAY: `${BUDGET}`, TOKEN_MS: '5', ...env })
  }

  async ask(user: string, body: object | null, signal?: AbortSignal): Promise<Response> {
    const [, url] = await this.says(/POST (http\S+)/)
    const headers = { authorization: `Bearer ${user}` }
    const options = signal === undefined ? {} : { signal }
    return fetch(url as string, { method: 'POST', headers, body: JSON.stringify(body), ...options })
  }
}

const say = (content: string, options: object = {}) => ({ messages: [{ role: 'user', content }], ...options })
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ')
const tokensLeft = (response: Response) => Number(response.headers.get('x-ratelimit-remaining-tokens'))
const json = async (response: Response) => (await response.json()) as Reply
const eventsOf = (text: string) => text.split('\n\n').filter((event) => event !== '')

/** What is left of a user's budget, found out by a request whose cost is known. */
async function budgetOf(chat: Chat, user: string): Promise<number> {
  const response = await chat.ask(user, say('one', { max_tokens: 1 }))
  expect(response.status).toBe(200)
  return tokensLeft(response) + 2
}

describe.each(['memory', 'redis'])('examples/chat on %s', (kind) => {
  let redis: RunningServer | undefined
  let chat: Chat
  beforeAll(async () => {
    redis = kind === 'redis' ? await startServer() : undefined
    chat = new Chat(redis === undefined ? {} : { REDIS_URL: `redis://${redis.host}:${redis.port}` })
  })
  afterAll(async () => {
    expect(await chat.stop()).toBe(0)
    await redis?.stop()
  })

  it('answers, and counts what the prompt and the answer took', async () => {
    const response = await chat.ask('userLuis', say('Hello there', { max_tokens: 100 }))
    expect(response.status).toBe(200)
    expect(response.headers.get('x-ratelimit-limit-tokens')).toBe(`${BUDGET}`)
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe(`${REQUESTS}`)
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe(`${REQUESTS - 1}`)
    expect(tokensLeft(response)).toBe(BUDGET - 6)
    const { object, choices, usage } = await json(response)
    expect(object).toBe('chat.completion')
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'You said: Hello there ' } })
    expect(usage).toEqual({ prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 })
  })

  it('keeps its counts in the given Redis, one slot a user', async () => {
    if (redis === undefined) return expect(chat.said).toContain('userLuis used 6 tokens')
    const client = new Redis(redis.port, redis.host)
    const keys = await client.keys('*userLuis*')
    await client.quit()
    expect(keys.sort()).toEqual([
      'rateLimit:openai~requests:sliding-window@1:{userLuis}',
      'rateLimit:openai~tokens:fixed-window@1:{userLuis}',
    ])
  })

  it('streams: holds the estimate at the start and counts the usage that it tells at the end', async () => {
    const response = await chat.ask('userAda', say('Hello there', { max_tokens: 3, stream: true }))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(tokensLeft(response)).toBe(BUDGET - 5)
    const events = eventsOf(await response.text())
    expect(events.at(-1)).toBe('data: [DONE]')
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)) as Reply)
    expect(chunks.map(({ choices }) => choices[0]?.delta?.content ?? '').join('')).toBe('You said: Hello ')
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('length')
    expect(chunks.at(-1)?.usage).toEqual({ prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 })
    expect(await budgetOf(chat, 'userAda')).toBe(BUDGET - 5)
  })

  it('counts what was generated until the client hung up', async () => {
    const hangUp = new AbortController()
    const response = await chat.ask('userEve', say(words(300), { max_tokens: 600, stream: true }), hangUp.signal)
    expect(tokensLeft(response)).toBe(BUDGET - 900)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let seen = ''
    while (eventsOf(seen).length < 4) seen += new TextDecoder().decode((await reader.read()).value)
    hangUp.abort()
    const [, used] = await chat.says(/userEve used (\d+) tokens: hung up/)
    expect(Number(used)).toBeGreaterThanOrEqual(304)
    expect(Number(used)).toBeLessThan(602)
    expect(await budgetOf(chat, 'userEve')).toBe(BUDGET - Number(used))
  })

  it('refuses by requests, with the time to wait in whole seconds', async () => {
    await awayFromWindowEdge(60_000, 8_000)
    for (let request = 0; request < REQUESTS; request++) await budgetOf(chat, 'userBob')
    const response = await chat.ask('userBob', say('one', { max_tokens: 1 }))
    expect(response.status).toBe(429)
    expect(tokensLeft(response)).toBe(BUDGET - 2 * REQUESTS)
    const { error } = await json(response)
    expect(error).toMatchObject({ type: 'requests', code: 'rate_limit_exceeded' })
    const [, retryAfterMs] = /try again in (\d+) ms$/.exec(error?.message ?? '') ?? []
    expect(response.headers.get('retry-after')).toBe(`${Math.ceil(Number(retryAfterMs) / 1_000)}`)
  })

  it('refuses by tokens while an answer holds them, and no longer when it has given them back', async () => {
    const first = await chat.ask('userMax', say(words(100), { max_tokens: 700, stream: true }))
    const refused = await chat.ask('userMax', say('one', { max_tokens: 250 }))
    expect(refused.status).toBe(429)
    expect(tokensLeft(refused)).toBe(BUDGET - 800)
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe(`${REQUESTS - 1}`)
    expect((await json(refused)).error).toMatchObject({ type: 'tokens', code: 'rate_limit_exceeded' })
    // That it will be settled soon is unknown: at the latest the hold expires, after ten minutes.
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(590)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(600)
    await first.text()
    const passed = await chat.ask('userMax', say('one', { max_tokens: 250 }))
    expect(tokensLeft(passed)).toBe(BUDGET - 100 - 102 - 1 - 3)
  })

  it('reports no time to wait for more than a day’s budget', async () => {
    const response = await chat.ask('userTom', say('one', { max_tokens: BUDGET }))
    expect([response.status, response.headers.get('retry-after')]).toEqual([413, null])
    expect(await budgetOf(chat, 'userTom')).toBe(BUDGET)
  })

  it('refunds everything when the model fails, in one piece or in the middle of a stream', async () => {
    const broken = say('one two three four', { model: 'broken', max_tokens: 100 })
    const whole = await chat.ask('userKim', broken)
    expect([whole.status, (await json(whole)).error?.message]).toEqual([500, 'the model broke'])
    const events = eventsOf(await (await chat.ask('userKim', { ...broken, stream: true })).text())
    expect(events.length).toBe(4)
    expect(JSON.parse((events.at(-1) as string).slice('data: '.length)).error.message).toBe('the model broke')
    const after = await chat.ask('userKim', say('one', { max_tokens: 1 }))
    expect(tokensLeft(after)).toBe(BUDGET - 2)
    expect(after.headers.get('x-ratelimit-remaining-requests')).toBe(`${REQUESTS - 1}`)
  })

  it('answers 400 to a body that is not a chat, and counts nothing', async () => {
    const bodies = [{}, null, say('one', { max_tokens: 0 }), { messages: [] }, { messages: [null] }]
    for (const body of bodies) expect((await chat.ask('userZoe', body)).status).toBe(400)
    expect(await budgetOf(chat, 'userZoe')).toBe(BUDGET)
  })
})
