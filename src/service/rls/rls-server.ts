import type * as Grpc from '@grpc/grpc-js'
import { startTimer } from '../../core/clock.ts'
import type { AssertToken } from '../server/token-check.ts'
import { decodeRequest, encodeResponse, type RateLimitRequest, type RateLimitResponse } from './messages.ts'
import { RequestProblem } from './request-problem.ts'
import type { RlsService } from './rls-service.ts'

/** As much of `@grpc/grpc-js` as the server needs. */
export type GrpcLibrary = Pick<typeof Grpc, 'Server' | 'ServerCredentials' | 'status'>

/** Options of `startRlsServer`. */
export interface RlsServerOptions {
  readonly grpc: GrpcLibrary
  readonly service: RlsService
  /** Where to listen, such as `127.0.0.1:8081`. Port 0 takes any that is free. */
  readonly address: string
  /**
   * Throws unless a request has the token.
   * @default every request may ask
   */
  readonly assertToken?: AssertToken
  /** Called with every error that the server did not expect. */
  readonly onError: (error: unknown) => void
}

/** A server that listens. */
export interface RlsServer {
  readonly port: number
  /** Takes no further request, and answers those under way for `graceMs` at most. */
  close(graceMs: number): Promise<void>
}

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

/** Starts Envoy's rate limit service. Rejects when the address cannot be used. */
export async function startRlsServer(options: RlsServerOptions): Promise<RlsServer> {
  const { grpc, address } = options
  const server = new grpc.Server()
  server.register(PATH, createHandler(options), encodeResponse, decodeRequest, 'unary')
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound)
      else reject(error)
    })
  })
  return { port, close: (graceMs) => closeServer(server, graceMs) }
}

type Call = Grpc.ServerUnaryCall<RateLimitRequest, RateLimitResponse>

function createHandler({ grpc, service, assertToken, onError }: RlsServerOptions) {
  const { INVALID_ARGUMENT, INTERNAL, UNAUTHENTICATED } = grpc.status
  return async ({ request, metadata }: Call, reply: Grpc.sendUnaryData<RateLimitResponse>): Promise<void> => {
    try {
      assertToken?.(metadata.get('authorization')[0]?.toString(), '')
    } catch (error) {
      reply({ code: UNAUTHENTICATED, details: (error as Error).message })
      return
    }
    try {
      reply(null, await service.decide(request))
    } catch (error) {
      if (error instanceof RequestProblem) {
        reply({ code: INVALID_ARGUMENT, details: error.message })
        return
      }
      onError(error)
      reply({ code: INTERNAL, details: 'the request could not be decided' })
    }
  }
}

async function closeServer(server: Grpc.Server, graceMs: number): Promise<void> {
  const stop = startTimer(undefined, graceMs, () => server.forceShutdown())
  await new Promise<void>((resolve) => server.tryShutdown(() => resolve()))
  stop()
}
