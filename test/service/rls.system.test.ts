import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { writePolicies } from '../cli/policy-file.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { composeDescriptor, openRlsClient, summarize } from './rls-client.ts'
import { served } from './served.ts'

const SHOP = `domain: shop
descriptors:
  - key: remote_address
    rate_limit: { unit: day, requests_per_unit: 3, name: per_address }
  - key: plan
    value: free
    rate_limit: { unit: day, requests_per_unit: 2 }
  - key: plan
    value: staff
    rate_limit: { unlimited: true }
`

async function serveRls(yaml: string, ...args: readonly string[]) {
  const file = await writePolicies(yaml)
  const service = await served(['--rls', '127.0.0.1:0', '--rls-config', file, ...args])
  const { address } = await service.tells('rls-started')
  return { ...service, file, client: openRlsClient(address as string) }
}

describe("Envoy's rate limit service, asked by a real client with the real protocol files", () => {
  it('answers with the code, the limit, what remains, when it resets and the header fields', async () => {
    const { client } = await serveRls(SHOP)
    const answer = await client.ask('shop', { remote_address: '192.0.2.1' })
    const seconds = answer.statuses[0]?.duration_until_reset?.seconds
    expect(Number(seconds)).toBeGreaterThan(0)
    expect(answer).toEqual({
      overall_code: 'OK',
      statuses: [
        {
          code: 'OK',
          current_limit: { name: 'per_address', requests_per_unit: 3, unit: 'DAY' },
          limit_remaining: 2,
          duration_until_reset: { seconds, nanos: 0 },
          quota: null,
        },
      ],
      response_headers_to_add: [
        { key: 'RateLimit-Policy', value: '"per_address";q=3;w=86400', raw_value: Buffer.alloc(0) },
        { key: 'RateLimit', value: `"per_address";r=2;t=${seconds}`, raw_value: Buffer.alloc(0) },
      ],
      request_headers_to_add: [],
      raw_body: Buffer.alloc(0),
      dynamic_metadata: null,
      quota: null,
    })
  })

  it('answers as docs/envoy.md shows, but for the time of the day', async () => {
    const page = await readFile(new URL('../../docs/envoy.md', import.meta.url), 'utf8')
    const [, yaml = '', shown = ''] =
      /```yaml\n(domain: shop[\s\S]*?)```[\s\S]*?```json\n([\s\S]*?)```/.exec(page) ?? []
    const { client } = await serveRls(yaml)
    const entries = { kind: 'offer', receiver: 'ann' }
    for (let time = 0; time < 5; time++) expect((await client.ask('shop', entries)).overall_code).toBe('OK')
    const refused = await client.ask('shop', entries)
    const seconds = refused.statuses[0]?.duration_until_reset?.seconds as string
    expect(refused).toMatchObject(JSON.parse(shown.replaceAll('43200', seconds)))
  })

  it('decides all descriptors of a request at once, and takes nothing when one refuses', async () => {
    const { client, get } = await serveRls(SHOP)
    const both = [{ remote_address: '192.0.2.1' }, { plan: 'free' }] as const
    expect(summarize(await client.ask('shop', ...both))).toEqual(['OK', 'OK 2', 'OK 1'])
    expect(summarize(await client.ask('shop', ...both))).toEqual(['OK', 'OK 1', 'OK 0'])
    const refused = await client.ask('shop', ...both)
    expect(summarize(refused)).toEqual(['OVER_LIMIT', 'OK 1', 'OVER_LIMIT 0'])
    expect(refused.response_headers_to_add.map(({ key }) => key)).toEqual([
      'RateLimit-Policy',
      'RateLimit',
      'Retry-After',
    ])
    expect(summarize(await client.ask('shop', both[0]))).toEqual(['OK', 'OK 0'])
    expect(summarize(await client.ask('shop', { plan: 'staff' }))).toEqual(['OK', 'OK 4294967295'])
    expect(summarize(await client.ask('shop', { plan: 'gold' }))).toEqual(['OK', 'OK 0'])
    expect(summarize(await client.ask('elsewhere', both[0]))).toEqual(['OK', 'OK 0'])
    const { body } = await get('/v1/live')
    expect((body.policies as object[]).at(-1)).toMatchObject({ name: 'rls/shop', allowed: 3, refused: 1 })
  })

  it('takes hits and limits from the request', async () => {
    const { client } = await serveRls(SHOP)
    const descriptor = composeDescriptor({ remote_address: '192.0.2.1' })
    const send = (request: object) => client.send({ domain: 'shop', ...request })
    expect(summarize(await send({ descriptors: [descriptor], hits_addend: 2 }))).toEqual(['OK', 'OK 1'])
    expect(summarize(await send({ descriptors: [descriptor], hits_addend: 2 }))).toEqual(['OVER_LIMIT', 'OVER_LIMIT 1'])
    const limited = { ...descriptor, limit: { requests_per_unit: 7, unit: 'MONTH' } }
    expect((await send({ descriptors: [limited] })).statuses[0]).toMatchObject({
      limit_remaining: 6,
      current_limit: { requests_per_unit: 7, unit: 'MONTH' },
    })
  })

  it('looks and takes nothing where a descriptor has 0 hits', async () => {
    const { client } = await serveRls(SHOP)
    // The protocol files at hand are older than hits_addend of a descriptor, which is field 3: UInt64Value { value: 0 }.
    const look = Buffer.from('12100a0c0a04706c616e1204667265651a00', 'hex')
    const address = { domain: 'shop', descriptors: [composeDescriptor({ remote_address: '192.0.2.1' })] }
    expect(summarize(await client.send({ domain: 'shop' }, {}, look))).toEqual(['OK', 'OK 2'])
    expect(summarize(await client.send(address, {}, look))).toEqual(['OK', 'OK 2', 'OK 2'])
    for (let time = 0; time < 2; time++) await client.ask('shop', { plan: 'free' })
    expect(summarize(await client.send(address, {}, look))).toEqual(['OVER_LIMIT', 'OK 2', 'OVER_LIMIT 0'])
    expect(summarize(await client.send(address))).toEqual(['OK', 'OK 1'])
  })

  it('answers a wrong request with an error that says why', async () => {
    const { client } = await serveRls(SHOP)
    await expect(client.send({ domain: 'shop' })).rejects.toThrow(
      '3 INVALID_ARGUMENT: a request needs at least one descriptor',
    )
    expect(summarize(await client.ask('shop', { remote_address: '192.0.2.1' }))).toEqual(['OK', 'OK 2'])
  })
})

describe('the file of rate limits', () => {
  it('is read again when it changes; with a mistake in it, the limits before stay in force and keep their counts', async () => {
    const { client, file, tells } = await serveRls(SHOP)
    const address = { remote_address: '192.0.2.1' }
    await client.ask('shop', address)
    await writeFile(file, SHOP.replace('requests_per_unit: 3', 'requests_per_unit: many'))
    const { error } = await tells('reload-failed')
    expect(error).toBe(`${file}:4:49: requests_per_unit must be a whole number from 0 to 4294967295, got "many"`)
    expect(summarize(await client.ask('shop', address))).toEqual(['OK', 'OK 1'])
    await writeFile(file, SHOP.replace('requests_per_unit: 3', 'requests_per_unit: 30'))
    expect(await tells('reloaded')).toMatchObject({ policies: ['rls/shop'] })
    expect(summarize(await client.ask('shop', address))).toEqual(['OK', 'OK 27'])
  })

  it('is read again on SIGHUP too', async () => {
    const { client, file, tells } = await serveRls(SHOP, '--no-watch')
    await writeFile(file, SHOP.replace('requests_per_unit: 3', 'requests_per_unit: 30'))
    process.emit('SIGHUP')
    await tells('reloaded')
    expect(summarize(await client.ask('shop', { remote_address: '192.0.2.1' }))).toEqual(['OK', 'OK 29'])
  })
})

describe('the address', () => {
  it('may be one of IPv6', async () => {
    const file = await writePolicies(SHOP)
    const { tells } = await served(['--rls', '[::1]:0', '--rls-config', file])
    const { address } = await tells('rls-started')
    expect(address).toMatch(/^\[::1\]:\d+$/)
    expect(summarize(await openRlsClient(address as string).ask('shop', { plan: 'free' }))).toEqual(['OK', 'OK 1'])
  })

  it('needs the token where others can reach it', async () => {
    const file = await writePolicies(SHOP)
    const env = { SLUICE_TOKEN: 'correct-horse-battery-staple' }
    const { tells } = await served(['--rls', '0.0.0.0:0', '--rls-config', file], env)
    const { address } = await tells('rls-started')
    const client = openRlsClient(`127.0.0.1:${(address as string).split(':')[1]}`)
    const request = { domain: 'shop', descriptors: [composeDescriptor({ plan: 'free' })] }
    await expect(client.send(request)).rejects.toThrow('16 UNAUTHENTICATED: this request needs the header')
    const authorization = `Bearer ${env.SLUICE_TOKEN}`
    expect(summarize(await client.send(request, { authorization }))).toEqual(['OK', 'OK 1'])
  })

  it('is refused where others can reach it without a token of yours, or where it is taken', async () => {
    const file = await writePolicies(SHOP)
    const start = async (address: string) => {
      const terminal = recordingTerminal({})
      const code = await run(['serve', '--port', '0', '--rls', address, '--rls-config', file], terminal)
      return [code, terminal.errors()] as const
    }
    const [code, told] = await start('0.0.0.0:0')
    expect(code).toBe(2)
    expect(told).toContain(
      'a service that others can reach needs a token in --token-file or SLUICE_TOKEN, got --rls 0.0.0.0 and neither',
    )
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    const [failed, why] = await start(`127.0.0.1:${port}`)
    expect(failed).toBe(1)
    expect(why).toContain(`cannot listen on --rls 127.0.0.1:${port}: `)
  })
})
