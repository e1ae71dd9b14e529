import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readStoredKey } from '../../src/cli/inspect/stored-key.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { ruleNames } from '../rule-registry.ts'
import { ask } from '../servers/ask.ts'
import { freePort } from '../servers/free-port.ts'
import { inspected, type KeyStage, RULES, said, startKeyStage, TIERS } from './key-stage.ts'
import { writePolicies } from './policy-file.ts'

let stage: KeyStage
let url: string
beforeAll(async () => {
  stage = await startKeyStage()
  url = stage.url
})
afterAll(() => stage?.stop())

describe('inspect says what is wrong', () => {
  it.each([
    [
      ['--policy', 'fixed'],
      2,
      '--policies is missing, such as --policies limits.yaml. Without a file, use --name and --rule, or --url of a service',
    ],
    [['--policies', 'FILE', '--policy', 'fixd', '--redis', 'URL'], 2, 'unknown policy "fixd", did you mean "fixed"?'],
    [
      ['--policies', 'FILE', '--policy', 'x', '--redis', 'URL'],
      2,
      `unknown policy "x": there are bucket, fixed, ${ruleNames.join(', ')}`,
    ],
    [['--policies', 'FILE', '--policy', 'fixed'], 2, '--redis is missing, such as --redis redis://127.0.0.1:6379'],
    [['--policies', 'missing.yaml'], 2, 'the policies file "missing.yaml" cannot be read: no such file'],
    [['--policies', '.'], 2, 'the policies file "." cannot be read: it is a folder'],
    [['--policies', '\0'], 2, 'the policies file "\\u0000" cannot be read: '],
    [
      ['--policies', 'FILE', '--cost', '0'],
      2,
      '--cost must be a whole number of at least 1, got 0 (npx sluice explain INVALID_ARGUMENT)',
    ],
    [
      ['--policies', 'FILE', '--url', 'http://127.0.0.1'],
      2,
      '--url asks a service, which has its own policies and store. Remove --policies and --redis',
    ],
    [['--name', 'api'], 2, "--rule is missing, such as --rule 'sliding-window limit=100 window=1m'"],
    [['--rule', 'gcra limit=5 period=1h'], 2, '--name is missing: the name of the limiter, which is part of its keys'],
    [['--name', 'api', '--rule', 'gcr limit=5'], 2, 'the rule "gcr limit=5" is wrong: unknown rule "gcr", did you'],
    [['--name', 'api', '--rule', 'gcra limit=5 period=1h'], 2, '--redis is missing, such as --redis'],
    [['--name', '', '--rule', 'gcra limit=5 period=1h', '--redis', 'URL'], 2, 'name must'],
    ...['--policies', '--policy', '--url'].map((option): [string[], number, string] => [
      ['--name', 'api', '--rule', 'gcra limit=5 period=1h', option, 'x'],
      2,
      '--name and --rule replace --policies, --policy and --url. Remove those',
    ]),
    [['--url', 'http://127.0.0.1'], 2, '--policy is missing, such as --policy api'],
    [
      ['--url', 'ftp://h', '--policy', 'a'],
      2,
      'the URL of a service must look like http://127.0.0.1:8080, got "ftp://h"',
    ],
    [['--url', 'h', '--policy', 'a'], 2, 'the URL of a service must look like http://127.0.0.1:8080, got "h"'],
  ])('%j', async (args, code, message) => {
    const file = await writePolicies(RULES)
    const given = args.map((arg) => (arg === 'FILE' ? file : arg === 'URL' ? url : arg))
    const result = await said('inspect', 'x', ...given)
    expect(result).toMatchObject({ code, out: '', err: expect.stringContaining(`sluice: ${message}`) })
  })

  it('an empty key', async () => {
    const result = await said('inspect', '', '--policies', await writePolicies(RULES), '--redis', url)
    const message = 'key must be a non-empty string or { kind, name }, got "" (npx sluice explain INVALID_KEY)'
    expect(result).toMatchObject({ code: 2, out: '', err: `sluice: ${message}\n` })
  })

  it('a tier that does not exist, of a policy that is named, of all of them, and to reset', async () => {
    const file = await writePolicies(TIERS)
    const at = ['--policies', file, '--redis', url]
    const err = 'sluice: unknown tier "usr", did you mean "user"? Write %3D where = is part of a name, got "usr=1"\n'
    const wrong = { code: 2, out: '', err }
    expect(await said('inspect', 'usr=1', ...at, '--policy', 'messages')).toEqual(wrong)
    expect(await said('inspect', 'usr=1', ...at)).toEqual(wrong)
    expect(await said('reset', 'usr=1', ...at, '--policy', 'messages', '--yes')).toEqual(wrong)
    await stage.limiterNamed(TIERS, 'messages').consume({ user: 'ada' })
    expect(await inspected('user=ada', ...at)).toMatchObject([{ policy: 'messages', key: 'user=ada' }])
  })

  it('a Redis that does not answer', async () => {
    const port = await freePort()
    const file = await writePolicies(TIERS)
    const result = await said('inspect', 'x', '--policies', file, '--redis', `redis://127.0.0.1:${port}`)
    expect(result).toEqual({
      code: 1,
      out: '',
      err: `sluice: no Redis answers at 127.0.0.1:${port}: connection refused\n`,
    })
  })

  it('keys that hold something else, which are left as they are', async () => {
    const file = await writePolicies(RULES)
    const look = () => said('inspect', 'odd', '--policies', file, '--policy', 'fixed', '--redis', url)
    for (const value of ['12345', '1234567890123456']) {
      await ask(stage.server, 'SET', 'sluice:fixed:fixed-window@1:odd', value)
      expect(await look()).toMatchObject({ code: 1, out: '', err: expect.stringContaining('FOREIGN_KEY') })
    }
    await ask(stage.server, 'DEL', 'sluice:fixed:fixed-window@1:odd')
  })

  it('and so it is when it changes while it is looked at', async () => {
    await ask(stage.server, 'SET', 'foreign', '12345')
    const rule = fixedWindow({ limit: 1, window: 1_000 })
    await expect(readStoredKey(stage.redis.client, 'foreign', rule, 0)).rejects.toMatchObject({ code: 'FOREIGN_KEY' })
  })

  it('a user who may not look', async () => {
    await ask(
      stage.server,
      'ACL',
      'SETUSER',
      'blind',
      'on',
      '>secret',
      '~sluice:*',
      '+evalsha',
      '+eval',
      '+script|load',
      '+get',
      '+time',
      '+info',
      '+ping',
    )
    const file = await writePolicies(RULES)
    const at = `redis://blind:secret@127.0.0.1:${stage.server.port}`
    const result = await said('inspect', 'x', '--policies', file, '--policy', 'fixed', '--redis', at)
    expect(result).toMatchObject({ code: 1, err: expect.stringMatching(/Redis did not show the key.*STORE_DENIED/) })
    await ask(stage.server, 'ACL', 'SETUSER', 'blind', '-time')
    const timeless = await said('inspect', 'x', '--policies', file, '--policy', 'fixed', '--redis', at)
    expect(timeless).toMatchObject({ code: 1, err: expect.stringContaining('STORE_DENIED') })
    await ask(stage.server, 'ACL', 'SETUSER', 'blind', '+time', '+type', '+pttl')
    const [{ limits }] = await inspected('x', '--policies', file, '--policy', 'fixed', '--redis', at)
    expect(limits[0].stored).toMatchObject({ type: 'none', bytes: null })
  })

  it('a Redis that does not decide, whatever the policy says to do then', async () => {
    const rights = ['on', '>secret', '~sluice:*', '+get', '+time', '+type', '+pttl', '+memory', '+info', '+ping']
    await ask(stage.server, 'ACL', 'SETUSER', 'scriptless', ...rights)
    const at = `redis://scriptless:secret@127.0.0.1:${stage.server.port}`
    const tiers = ['--policies', await writePolicies(TIERS), '--policy', 'messages', '--redis', at]
    for (const key of ['x', 'user=x', 'all=x']) {
      const untold = await said('inspect', key, ...tiers)
      expect(untold).toMatchObject({ code: 1, out: '', err: expect.stringContaining('STORE_DENIED') })
    }
  })
})
