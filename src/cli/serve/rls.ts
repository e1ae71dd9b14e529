import { isIPv6 } from 'node:net'
import type { Store } from '../../core/store.ts'
import { readRlsConfig } from '../../service/rls/read-rls-config.ts'
import type { RlsConfig } from '../../service/rls/rls-config.ts'
import { type GrpcLibrary, type RlsServer, startRlsServer } from '../../service/rls/rls-server.ts'
import { RlsService } from '../../service/rls/rls-service.ts'
import { type AssertToken, createTokenCheck } from '../../service/server/token-check.ts'
import type { Service } from '../../service/service.ts'
import { readTextFile } from '../command/policies-file.ts'
import { CommandFailure, UsageError } from '../terminal/command-failure.ts'
import type { ServeLog } from './log.ts'
import { isOnlyLocal } from './token.ts'

/** Envoy's rate limit service, as the command line asks for it. */
export interface RlsPlan {
  readonly host: string
  readonly port: number
  readonly files: readonly string[]
  readonly configs: readonly RlsConfig[]
  readonly grpc: GrpcLibrary
}

/** How to load `@grpc/grpc-js`, which only some have. */
export type LoadGrpc = () => Promise<GrpcLibrary>

/** Reads `--rls` and `--rls-config`, and loads what they need. `undefined` without them. */
export async function planRls(
  address: string | undefined,
  files: readonly string[] = [],
  load: LoadGrpc = () => import('@grpc/grpc-js'),
): Promise<RlsPlan | undefined> {
  if (address === undefined && files.length === 0) return undefined
  if (address === undefined) throw new UsageError('--rls-config is for --rls, such as --rls 127.0.0.1:8081')
  if (files.length === 0) throw new UsageError('--rls needs rate limits: --rls-config <file>')
  const { host, port } = parseAddress(address)
  const configs = await readConfigs(files)
  return { host, port, files, configs, grpc: await loadGrpc(load) }
}

/** A service that runs. */
export interface RunningRls {
  /** Reads the rate limits again. The log reports those with a mistake, which leave those in force that are. */
  reload(): Promise<void>
  close(graceMs: number): Promise<void>
}

/** Starts the service. Beyond this machine requests need the token. */
export async function startRls(
  { host, port, files, configs, grpc }: RlsPlan,
  { service, store, token, log }: { service: Service; store: Store; token: string; log: ServeLog },
): Promise<RunningRls> {
  const rls = new RlsService(configs, { store, watch: service.watch })
  const assertToken = (await isOnlyLocal('--rls', host)) ? undefined : createTokenCheck(token)
  const server = await listen({ grpc, rls, host, port, assertToken, log })
  log.rlsStarted(formatAddress(host, server.port), rls.limiters())
  return {
    async reload() {
      try {
        rls.replace(await readConfigs(files))
        log.reloaded(files.join(', '), rls.limiters())
      } catch (error) {
        log.reloadFailed(files.join(', '), (error as Error).message)
      }
    },
    async close(graceMs) {
      await server.close(graceMs)
      await rls.close()
    },
  }
}

interface Listening {
  readonly grpc: GrpcLibrary
  readonly rls: RlsService
  readonly host: string
  readonly port: number
  readonly assertToken: AssertToken | undefined
  readonly log: ServeLog
}

async function listen({ grpc, rls, host, port, assertToken, log }: Listening): Promise<RlsServer> {
  const address = formatAddress(host, port)
  try {
    const check = assertToken && { assertToken }
    return await startRlsServer({ grpc, service: rls, address, ...check, onError: log.failed })
  } catch (error) {
    await rls.close()
    throw new CommandFailure(`cannot listen on --rls ${address}: ${(error as Error).message}`)
  }
}

async function readConfigs(files: readonly string[]): Promise<readonly RlsConfig[]> {
  return Promise.all(files.map(async (file) => readRlsConfig(await readTextFile('rate limits', file), file)))
}

function parseAddress(address: string): { host: string; port: number } {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(address) ?? []
  if (host === undefined || Number(port) > 65_535) {
    throw new UsageError(`--rls must be an address and a port, such as 127.0.0.1:8081, got ${address}`)
  }
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}

function formatAddress(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

async function loadGrpc(load: LoadGrpc): Promise<GrpcLibrary> {
  try {
    return await load()
  } catch (error) {
    const cause = { cause: error }
    throw new CommandFailure('--rls needs the package @grpc/grpc-js: npm install @grpc/grpc-js', undefined, cause)
  }
}
