import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { readPolicies } from '../../src/policies/read-policies.ts'
import { createService } from '../../src/service/service.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { inspected, type KeyStage, said, startKeyStage, TIERS } from './key-stage.ts'
import { writePolicies } from './policy-file.ts'

let stage: KeyStage
beforeAll(async () => {
  stage = await startKeyStage()
})
afterAll(() => stage?.stop())

describe('a running service', () => {
  const TOKEN = 'a-token-of-20-letters'
  const serve = async () => {
    const service = await createService({
      policies: readPolicies(`${TIERS}  api: { rule: fixed-window, limit: 2, window: 1h }\n`, ''),
      store: redisStore(stage.redis.client, { prefix: `service-${Math.random()}:` }),
      token: TOKEN,
      version: '0.0.0',
    })
    onTestFinished(() => service.close(0))
    const { port } = await service.listen('127.0.0.1', 0)
    return { at: `http://127.0.0.1:${port}`, limiters: service.limiters() }
  }

  it('is asked what a request would get', async () => {
    const { at, limiters } = await serve()
    const api = limiters.find(({ name }) => name === 'api') as Limiter<string>
    await api.consume('user:42', { cost: 2 })
    const [found] = await inspected('user:42', '--url', at, '--policy', 'api')
    expect(found).toMatchObject({ policy: 'api', key: 'user:42', place: at })
    expect(found.decision).toMatchObject({ allowed: false, limitedBy: 'api', reason: 'limit' })
    expect(found.limits).toEqual([
      expect.objectContaining({ name: 'api', kind: 'fixed-window', limit: 2, isShadow: false }),
    ])
    const { out } = await said('inspect', 'user:42', '--url', at, '--policy', 'api', '--cost', '3')
    expect(out).toMatch(/is refused now with a cost of 3: the cost is greater than the limit, and never passes/)
    const [tiers] = await inspected('user=42,ip=ip~::1', '--url', at, '--policy', 'messages')
    expect(tiers.limits.map(({ name }: { name: string }) => name)).toEqual(['user', 'ip'])
  })

  it('resets a key with the token from a file or from the environment', async () => {
    const { at, limiters } = await serve()
    const api = limiters.find(({ name }) => name === 'api') as Limiter<string>
    await api.consume('user:42')
    const args = ['reset', 'user:42', '--url', at, '--policy', 'api']
    expect(await said(...args)).toMatchObject({
      code: 1,
      out: '',
      err: `sluice: the service at ${at} needs a token. Set --token-file or SLUICE_TOKEN\n`,
    })
    expect((await api.peek('user:42')).remaining).toBe(1)
    const file = await writePolicies(`${TOKEN}\n`, 'token.txt')
    expect(await said(...args, '--token-file', file, '--json')).toEqual({
      code: 0,
      out: '{"policy":"api","key":"user:42","reset":true}\n',
      err: '',
    })
    expect((await api.peek('user:42')).remaining).toBe(2)
    const terminal = recordingTerminal({ env: { SLUICE_TOKEN: TOKEN } })
    expect(await run(args, terminal)).toBe(0)
    const wrong = await writePolicies('another-token-of-20', 'token.txt')
    expect((await said(...args, '--token-file', wrong)).err).toBe(
      `sluice: the service at ${at} rejects the token. Check --token-file or SLUICE_TOKEN\n`,
    )
    expect(await said(...args, '--token-file', 'missing.txt')).toMatchObject({
      code: 2,
      err: 'sluice: the token file cannot be read: there is no "missing.txt"\n',
    })
    expect((await said(...args, '--token-file', '.')).err).toMatch(/^sluice: the token file cannot be read: EISDIR/)
  })

  it('says that it has no such policy', async () => {
    const { at } = await serve()
    const result = await said('inspect', 'x', '--url', at, '--policy', 'nope')
    expect(result).toEqual({
      code: 2,
      out: '',
      err: 'sluice: the service has no policy "nope": it has messages, api\n',
    })
  })

  it('says which key it cannot read', async () => {
    const { at } = await serve()
    const result = await said('inspect', '{"user":5}', '--url', at, '--policy', 'messages')
    expect(result).toMatchObject({ code: 2, err: expect.stringMatching(/ says: .*\(INVALID_KEY\)\n$/) })
  })
})
