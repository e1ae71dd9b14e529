import { describe, expect, it } from 'vitest'
import { writePolicies } from '../cli/policy-file.ts'
import { openRlsClient } from './rls-client.ts'
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
})
