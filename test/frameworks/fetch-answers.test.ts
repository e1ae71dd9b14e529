import { createServer } from 'node:http'
import type { UnderlyingSource } from 'node:stream/web'
import { concurrency, createLimiter, fixedWindow } from 'sluice'
import { rateLimit } from 'sluice/fetch'
import { describe, expect, it } from 'vitest'
import { untilRead } from '../../src/adapters/fetch/until-read.ts'
import { collectGarbage } from '../collect-garbage.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { listening } from './listening.ts'

let made = 0
const name = (): string => `answers ${made++}`
const key = (): string => 'a'
const asked = (init: RequestInit = {}) => new Request('http://localhost/', init)
const daily = (limit: number) => createLimiter({ name: name(), rule: fixedWindow({ limit, window: 86_400_000 }) })

describe('headers on answers of fetch', () => {
  const policy = (limiter: { readonly name: string }) => `"${limiter.name}";q=9;w=86400`

  it('go on a copy of a response that cannot be changed, and nothing of it is lost', async () => {
    const origin = await listening(
      createServer((_, response) =>
        response.writeHead(203, 'Nearly', { 'x-origin': 'o', 'set-cookie': ['a=1', 'b=2'] }).end('fetched'),
      ),
    )
    const limiter = daily(9)
    const limited = rateLimit({ limiter, key })
    const fetched = await limited(() => fetch(origin.url))(asked())
    expect([fetched.status, fetched.statusText, await fetched.text()]).toEqual([203, 'Nearly', 'fetched'])
    expect(fetched.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect([fetched.headers.get('x-origin'), fetched.headers.get('ratelimit-policy')]).toEqual(['o', policy(limiter)])
    const moved = await limited(() => Response.redirect('http://localhost/there', 308))(asked())
    expect([moved.status, moved.headers.get('location')]).toEqual([308, 'http://localhost/there'])
    expect(moved.headers.get('ratelimit-policy')).toBe(policy(limiter))
    await origin.close()
  })

  it('go on the answer itself where that can be changed', async () => {
    const own = new Response('own')
    expect(await rateLimit({ limiter: daily(9), key })(() => own)(asked())).toBe(own)
  })

  it('leave alone one answer without a body that many requests get', async () => {
    const limiter = daily(9)
    const always = new Response(null, { status: 204 })
    const handler = rateLimit({ limiter, key })(() => always)
    for (const left of [8, 7]) expect((await handler(asked())).headers.get('ratelimit')).toContain(`;r=${left};`)
    expect([...always.headers]).toEqual([])
  })

  it('do not touch a value that is not a response yet', async () => {
    const failed = Response.error()
    expect(await rateLimit({ limiter: daily(9), key })(() => failed)(asked())).toBe(failed)
  })

  it('stand before those of the handler: lists are joined, single values are its own', async () => {
    const limiter = daily(9)
    const headers = {
      'ratelimit-policy': '"upstream";q=1',
      'x-ratelimit-limit': '1',
      'access-control-expose-headers': 'X-Total, RateLimit',
    }
    const origin = { headers: { origin: 'https://a.example' } }
    const joined = await rateLimit({ limiter, key })(() => new Response('x', { headers }))(asked(origin))
    expect(joined.headers.get('ratelimit-policy')).toBe(`${policy(limiter)}, "upstream";q=1`)
    expect(joined.headers.get('access-control-expose-headers')).toBe('RateLimit-Policy, RateLimit, X-Total')
    const single = await rateLimit({ limiter, key, headers: 'legacy' })(() => new Response('x', { headers }))(asked())
    expect([single.headers.get('x-ratelimit-limit'), single.headers.get('x-ratelimit-remaining')]).toEqual(['1', '7'])
  })
})

describe('a permit that is taken for an answer of fetch', () => {
  const stage = (limit = 1) => {
    const places = createLimiter({ name: name(), rule: concurrency({ limit, lease: 60_000 }) })
    const free = async () => (await places.peek('a')).remaining
    const refusing = async () => (await limited(() => new Response('x'))(asked())).status
    const limited = rateLimit({ limiter: places, key })
    return { limited, free, refusing }
  }
  const text = (part: string) => new TextEncoder().encode(part)
  const twoParts = (more: UnderlyingSource<Uint8Array> = {}) => {
    const parts = ['one', 'two']
    const source: UnderlyingSource<Uint8Array> = {
      pull(controller) {
        const part = parts.shift()
        if (part === undefined) controller.close()
        else controller.enqueue(text(part))
      },
      ...more,
    }
    return new Response(new ReadableStream(source, { highWaterMark: 0 }), { status: 201 })
  }

  it('is free when its body has been read to the end, and not before', async () => {
    const { limited, free, refusing } = stage()
    const response = await limited(() => twoParts())(asked())
    expect(response.status).toBe(201)
    const reader = (response.body as ReadableStream).getReader()
    expect([await free(), await refusing()]).toEqual([0, 429])
    expect((await reader.read()).value).toEqual(text('one'))
    expect((await reader.read()).value).toEqual(text('two'))
    expect(await free()).toBe(0)
    expect(await reader.read()).toEqual({ done: true, value: undefined })
    expect(await free()).toBe(1)
  })

  it('is released before the reader gets the end', async () => {
    const happened: string[] = []
    const end = async (status: number | undefined): Promise<void> => {
      await new Promise(setImmediate)
      happened.push(`given back after ${status}`)
    }
    const response = await untilRead(twoParts(), 'GET', end)
    happened.push(await response.text())
    await untilRead(new Response(null, { status: 204 }), 'GET', end)
    happened.push('nothing')
    expect(happened).toEqual(['given back after 201', 'onetwo', 'given back after 204', 'nothing'])
  })

  it('is free when the reader gives up, and the source is cancelled', async () => {
    const { limited, free } = stage()
    const reasons: unknown[] = []
    const response = await limited(() => twoParts({ cancel: (reason) => void reasons.push(reason) }))(asked())
    const reader = (response.body as ReadableStream).getReader()
    await reader.read()
    await reader.cancel('enough')
    expect([await free(), reasons]).toEqual([1, ['enough']])
  })

  it('is free when the body fails, and the reader gets the error', async () => {
    const { limited, free } = stage()
    const broken = { pull: () => Promise.reject(new Error('broken')) }
    const response = await limited(() => twoParts(broken))(asked())
    expect(await free()).toBe(0)
    await expect(response.text()).rejects.toThrow('broken')
    expect(await free()).toBe(1)
  })

  it('is free at once when there is nothing to read', async () => {
    const { limited, free } = stage()
    await limited(() => new Response(null, { status: 204 }))(asked())
    expect(await free()).toBe(1)
    await limited(() => twoParts())(asked({ method: 'HEAD' }))
    expect(await free()).toBe(1)
    expect(await limited(() => undefined)(asked())).toBeUndefined()
    expect(await free()).toBe(1)
  })

  it('is free when the handler throws, and the error goes on', async () => {
    const { limited, free } = stage()
    const failing = limited(async (): Promise<Response> => {
      throw new Error('thrown')
    })
    await expect(failing(asked())).rejects.toThrow('thrown')
    expect(await free()).toBe(1)
    const used = new Response('x')
    await used.text()
    await expect(limited(() => used)(asked())).rejects.toThrow(TypeError)
    expect(await free()).toBe(1)
  })

  it('is free when the client hangs up, while the handler works or before', async () => {
    const { limited, free } = stage(2)
    const client = new AbortController()
    let work = (_: Response): void => {}
    const started = new Promise<void>((begin) => {
      void limited(() => {
        begin()
        return new Promise<Response>((resolve) => {
          work = resolve
        })
      })(asked({ signal: client.signal })).then((response) => response.text())
    })
    await started
    expect(await free()).toBe(1)
    client.abort()
    expect(await free()).toBe(2)
    work(new Response('late'))
    const response = await limited(() => twoParts())(asked({ signal: AbortSignal.abort() }))
    expect([await free(), await response.text()]).toEqual([2, 'onetwo'])
  })

  it('is free when the answer is left unread', async () => {
    const { limited, free } = stage()
    await limited(() => twoParts())(asked())
    await waitUntil(async () => {
      collectGarbage()
      return (await free()) === 1 ? undefined : 'the place is still taken'
    })
  })

  it('and what is only counted if it failed: an answer that the client did not wait for counts', async () => {
    const failures = daily(9)
    const limited = rateLimit({ limiter: failures, key, count: 'failed' })
    const left = async () => (await failures.peek('a')).remaining
    await (await limited(() => twoParts())(asked())).text()
    expect(await left()).toBe(9)
    await (await limited(() => twoParts())(asked())).body?.cancel()
    expect(await left()).toBe(8)
    await expect(limited(() => Promise.reject(new Error('thrown')))(asked())).rejects.toThrow('thrown')
    expect(await left()).toBe(7)
  })
})
