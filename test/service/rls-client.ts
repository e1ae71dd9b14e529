import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { onTestFinished } from 'vitest'

const DEPS = join(dirname(fileURLToPath(import.meta.resolve('@grpc/grpc-js-xds/package.json'))), 'deps')

/** What a client of Envoy's rate limit service gets, by the names of the protocol. */
export interface RlsAnswer {
  readonly overall_code: string
  readonly statuses: readonly {
    readonly code: string
    readonly current_limit: { readonly requests_per_unit: number; readonly unit: string; readonly name: string } | null
    readonly limit_remaining: number
    readonly duration_until_reset: { readonly seconds: string; readonly nanos: number } | null
  }[]
  readonly response_headers_to_add: readonly { readonly key: string; readonly value: string }[]
}

/** A descriptor as a list of keys and values, such as `{ user: 'ann', path: '/' }`. */
export type Entries = Readonly<Record<string, string>>

/** Asks Envoy's rate limit service. */
export interface RlsClient {
  /** Asks with descriptors that say nothing but their entries. */
  ask(domain: string, ...descriptors: readonly Entries[]): Promise<RlsAnswer>
  /** Asks with a request by the names of the protocol. `more` are bytes that follow it. */
  send(request: object, metadata?: Readonly<Record<string, string>>, more?: Buffer): Promise<RlsAnswer>
}

/** A real client with Envoy's own protocol files. It ends with the test. */
export function openRlsClient(address: string): RlsClient {
  const includeDirs = ['envoy-api', 'xds', 'protoc-gen-validate', 'googleapis'].map((folder) => join(DEPS, folder))
  const options = { keepCase: true, enums: String, longs: String, defaults: true, includeDirs }
  const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', options)
  const service = definition['envoy.service.ratelimit.v3.RateLimitService'] as grpc.ServiceDefinition
  const { path, requestSerialize, responseDeserialize } = service.ShouldRateLimit as grpc.MethodDefinition<
    object,
    RlsAnswer
  >
  const client = new grpc.Client(address, grpc.credentials.createInsecure())
  onTestFinished(() => client.close())
  const send: RlsClient['send'] = (request, metadata = {}, more = Buffer.alloc(0)) => {
    const headers = new grpc.Metadata()
    for (const [name, value] of Object.entries(metadata)) headers.set(name, value)
    const serialize = (value: object) => Buffer.concat([requestSerialize(value), more])
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, serialize, responseDeserialize, request, headers, (error, answer) => {
        if (error === null) resolve(answer as RlsAnswer)
        else reject(error)
      })
    })
  }
  return {
    send,
    ask: (domain, ...descriptors) => send({ domain, descriptors: descriptors.map(composeDescriptor) }),
  }
}

/** Composes a descriptor by the names of the protocol. */
export function composeDescriptor(entries: Entries): object {
  return { entries: Object.entries(entries).map(([key, value]) => ({ key, value })) }
}

/** An answer in few words: the code of all, then the code of each descriptor and what remains. */
export function summarize({ overall_code, statuses }: RlsAnswer): readonly string[] {
  return [overall_code, ...statuses.map(({ code, limit_remaining }) => `${code} ${limit_remaining}`)]
}
