import { expect, onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { type ConnectedRedis, connectRedis } from '../../src/cli/redis/redis-url.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { createPolicyLimiter } from '../../src/policies/create-policy-limiter.ts'
import { type Policy, readPolicies } from '../../src/policies/read-policies.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { type DescribedRule, everyRule } from '../rule-registry.ts'
import type { RuleMode } from '../rule-samples.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'

/** A policy of each rule by its name, in a mode that has no edges of the clock if there is one; and two by names of their own. */
export const RULES: string = `policies:
  bucket: { rule: token-bucket, capacity: 5, refill: 1, period: 1h }
  fixed: { rule: fixed-window, limit: 5, window: 1h, anchor: first-hit }
${everyRule.map(policyText).join('\n')}
`
/** A policy of tiers. */
export const TIERS = `policies:
  messages:
    tiers:
      user: { rule: fixed-window, limit: 100, window: 1h, anchor: first-hit }
      ip: { rule: token-bucket, capacity: 3, refill: 1, period: 1h }
      all: { rule: fixed-window, limit: 2, window: 1h, anchor: first-hit, shadow: true, onStoreFailure: refuse }
    onStoreFailure: allow
    hashTag: true
`

function policyText({ name, samples: { modes } }: DescribedRule): string {
  const mode = modes.find(({ aroundMs }) => aroundMs === undefined) ?? (modes[0] as RuleMode)
  const options = mode.options({ limit: 5, timeMs: 3_600_000, rate: 1, parts: 3 })
  return `  ${name}: ${JSON.stringify({ rule: name, ...options }).replace('3600000', '"1h"')}`
}

/** A server with a client connected to it. */
export interface KeyStage {
  readonly server: Address
  readonly redis: ConnectedRedis
  readonly url: string
  /** The limiter of a policy on that server, until the test ends. */
  limiterNamed(text: string, name: string): Limiter<string>
  stop(): Promise<void>
}

/** Starts a server for commands about keys. */
export async function startKeyStage(): Promise<KeyStage> {
  const server = await useServer()
  const url = `redis://127.0.0.1:${server.port}`
  const redis = await connectRedis(url)
  return {
    ...{ server, redis, url },
    limiterNamed(text, name) {
      const policy = readPolicies(text, '').find((one) => one.name === name) as Policy
      const limiter = createPolicyLimiter(policy, { store: redisStore(redis.client) })
      onTestFinished(() => limiter.close())
      return limiter
    },
    async stop() {
      await redis.close()
    },
  }
}

/** What a command line says, and how it ends. */
export async function said(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = recordingTerminal()
  const code = await run(args, terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

// biome-ignore lint/suspicious/noExplicitAny: JSON, whose parts the tests name themselves.
type Json = any

/** What `inspect --json` finds. */
export async function inspected(...args: string[]): Promise<Json> {
  const { code, out, err } = await said('inspect', ...args, '--json')
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out).inspections
}
