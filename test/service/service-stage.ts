import { afterEach } from 'vitest'
import { readPolicies } from '../../src/policies/read-policies.ts'
import { createService, type Service, type ServiceOptions } from '../../src/service/service.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'

export const TOKEN = 'correct-horse-battery-staple'

/** A policy of one rule, one of tiers, and a budget: enough to ask for everything. */
const POLICIES = `
policies:
  api: { rule: fixed-window, limit: 10, window: 1m }
  messages:
    tiers:
      user: { rule: fixed-window, limit: 5, window: 1m }
      ip: { rule: token-bucket, capacity: 20, refill: 1, period: 1s }
  tokens: { rule: fixed-window, limit: 1000, window: 1d }
`

/** What a service answered. */
interface Told {
  readonly status: number
  readonly headers: Headers
  // Whatever it is: tests say what they expect of it.
  // biome-ignore lint/suspicious/noExplicitAny: tests compare it
  readonly body: any
}

/** A service that listens on a free port of loopback, and how to ask it. */
export interface Stage {
  readonly service: Service
  readonly url: string
  readonly port: number
  get(path: string, headers?: Record<string, string>): Promise<Told>
  /** Sends JSON with the token, unless `headers` says otherwise. Text is sent as it is. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Told>
  /** What is left of a key, without counting. */
  remaining(policy: string, key: unknown): Promise<number>
}

const open: Service[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close(0)))
})

/** Starts a service with the policies of a file. It ends with the test. */
export async function serving(
  options: Partial<ServiceOptions> & { yaml?: string; host?: string } = {},
): Promise<Stage> {
  const { yaml = POLICIES, host = '127.0.0.1', ...others } = options
  const service = await createService({
    policies: readPolicies(yaml, 'policies.yaml'),
    store: memoryStore(),
    token: TOKEN,
    version: '1.2.3',
    ...others,
  })
  open.push(service)
  const { port } = await service.listen(host, 0)
  const url = `http://127.0.0.1:${port}`
  const stage: Stage = {
    service,
    url,
    port,
    get: async (path, headers = {}) => told(await fetch(`${url}${path}`, { headers })),
    post: async (path, body, headers = {}) => {
      const text = typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body)
      const own = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` }
      return told(await fetch(`${url}${path}`, { method: 'POST', headers: { ...own, ...headers }, body: text }))
    },
    remaining: async (policy, key) => (await stage.post('/v1/peek', { policy, key })).body.remaining,
  }
  return stage
}

async function told(response: Response): Promise<Told> {
  const text = await response.text()
  const isJson = response.headers.get('content-type') === 'application/json'
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}
