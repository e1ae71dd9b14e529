import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseList } from 'structured-headers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { Example, limitsOn } from './example.ts'
import { awayFromWindowEdge } from './window-edge.ts'

// All servers among the examples keep one contract, but for those that have tests of their own.
const OTHERS = ['chat', 'gateways', 'socket-io', 'start', 'websocket']
const BY_ADDRESS = 5
const BY_USER = 3

const folder = fileURLToPath(new URL('../../examples', import.meta.url))
const names = readdirSync(folder).filter((name) => !OTHERS.includes(name))

it.each(names)('examples/%s has a server and says how to start it', (name) => {
  expect(existsSync(join(folder, name, 'server.mjs'))).toBe(true)
  expect(existsSync(join(folder, name, 'README.md'))).toBe(true)
})

/** What each limiter in front of an answer says: its name, what remains, and for how many seconds. */
function listLimits(response: Response) {
  const items = parseList(response.headers.get('ratelimit') ?? '')
  return items.map(([name, parameters]) => ({ name, r: parameters.get('r'), t: parameters.get('t') }))
}

/** The fewest that any of them has left. */
const leftIn = (response: Response) => Math.min(...listLimits(response).map(({ r }) => Number(r)))

async function expectRefusal(response: Response): Promise<void> {
  expect(response.status).toBe(429)
  const seconds = Number(response.headers.get('retry-after'))
  expect(seconds).toBeGreaterThanOrEqual(1)
  // A sliding window forgets a minute's requests in the course of the next one.
  expect(seconds).toBeLessThanOrEqual(120)
  const refusing = listLimits(response).find(({ r }) => r === 0)
  expect(refusing?.t).toBe(seconds)
  const policies = parseList(response.headers.get('ratelimit-policy') ?? '').map(([name]) => name)
  expect(policies).toContain(refusing?.name)
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(await response.json()).toMatchObject({ status: 429, 'violated-policies': [refusing?.name] })
}

describe.each(names)('examples/%s', (name) => {
  describe.each(['memory', 'redis'])('on %s', (kind) => {
    let redis: RunningServer | undefined
    let example: Example
    let url: string
    beforeAll(async () => {
      redis = kind === 'redis' ? await startServer() : undefined
      example = new Example(name, redis === undefined ? {} : { REDIS_URL: `redis://${redis.host}:${redis.port}` })
      url = await example.url()
      await awayFromWindowEdge(60_000, 8_000)
    })
    afterAll(async () => {
      await example?.stop()
      await redis?.stop()
    })
    const me = (user: string) => fetch(`${url}/me`, { headers: { authorization: `Bearer ${user}` } })

    it(`lets an address pass ${BY_ADDRESS} times a minute`, async () => {
      for (let left = BY_ADDRESS - 1; left >= 0; left--) {
        const response = await fetch(url)
        expect([response.status, leftIn(response)]).toEqual([200, left])
        await response.text()
      }
      await expectRefusal(await fetch(url))
    })

    it(`counts by user where one is named, and lets each pass ${BY_USER} times a minute`, async () => {
      for (const user of ['ada', 'eve']) {
        for (let left = BY_USER - 1; left >= 0; left--) {
          const response = await me(user)
          expect([response.status, leftIn(response)]).toEqual([200, left])
          await response.text()
        }
        await expectRefusal(await me(user))
      }
      // In the given Redis: those of both limiters.
      if (redis !== undefined) expect((await limitsOn(redis)).length).toBe(2)
    })

    it('does not let a user with the name of an address share what that address has left', async () => {
      expect((await me('127.0.0.1')).status).toBe(200)
    })

    it('trusts no header about the client', async () => {
      await expectRefusal(
        await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.9', 'x-real-ip': '203.0.113.9' } }),
      )
    })

    it('ends when it is asked to', async () => {
      expect(await example.stop()).toBe(0)
    })
  })
})
