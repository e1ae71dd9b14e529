import { LimiterError } from '../../core/limiter-error.ts'
import { isNoScript } from './clients/is-no-script.ts'
import { refuseUnsafeEngine } from './engine-probe.ts'
import type { RedisConnection } from './redis-connection.ts'
import type { Script } from './script-catalog.ts'

/** Runs scripts by their SHA-1 and sees to it that the servers know them. */
export class ScriptRunner {
  readonly #connection: RedisConnection
  readonly #loads = new Map<string, Promise<unknown>>()
  #isEngineSafe: boolean
  #asking: Promise<void> | undefined

  /** @param isEngineSafe whether the engine need not be asked for its atomicity. */
  constructor(connection: RedisConnection, isEngineSafe: boolean) {
    this.#connection = connection
    this.#isEngineSafe = isEngineSafe
  }

  /** Loads a script on every primary. Rejects when one of them refuses. */
  load(script: Script): Promise<unknown> {
    return this.#connection.sendToAll(['SCRIPT', 'LOAD', script.source])
  }

  /** Runs a script on keys of one slot and resolves with the server's reply. Never runs it twice. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [`${keys.length}`, ...keys, ...args]
    const isReady = this.#isEngineSafe && this.#loads.has(script.sha1)
    return isReady ? this.#send(script, keys[0] as string, rest) : this.#sendFirst(script, keys[0] as string, rest)
  }

  /** Sends a plain command about one key and resolves with the server's reply. */
  async ask(key: string, command: readonly [string, ...string[]]): Promise<unknown> {
    try {
      return await this.#connection.send(key, command)
    } catch (cause) {
      throw failed(`Redis did not answer ${command[0]}`, cause)
    }
  }

  async #sendFirst(script: Script, key: string, rest: readonly string[]): Promise<unknown> {
    try {
      if (!this.#isEngineSafe) await this.#askEngine(key)
      if (!this.#loads.has(script.sha1)) this.#loadInBackground(script)
    } catch (cause) {
      throw undecided(script, cause)
    }
    return this.#send(script, key, rest)
  }

  // Not an async function: each of them would let every decision wait a little longer.
  #send(script: Script, key: string, rest: readonly string[]): Promise<unknown> {
    const failed = (error: unknown): Promise<unknown> => this.#sendText(script, key, rest, error)
    try {
      return Promise.resolve(this.#connection.send(key, ['EVALSHA', script.sha1, ...rest])).catch(failed)
    } catch (error) {
      return failed(error)
    }
  }

  async #sendText(script: Script, key: string, rest: readonly string[], error: unknown): Promise<unknown> {
    // Only a missing script is safe to send again: any other failure may already have counted.
    if (!isNoScript(error)) throw undecided(script, error)
    this.#loadInBackground(script)
    try {
      return await this.#connection.send(key, ['EVAL', script.source, ...rest])
    } catch (cause) {
      throw undecided(script, cause)
    }
  }

  // Once for all who ask meanwhile, and again only when it failed.
  #askEngine(key: string): Promise<void> {
    this.#asking ??= refuseUnsafeEngine(this.#connection, key)
      .then(() => {
        this.#isEngineSafe = true
      })
      .finally(() => {
        this.#asking = undefined
      })
    return this.#asking
  }

  // Nobody waits for it and nobody needs it: a server that does not know a script gets its text with the request. But what came
  // by EVAL may be evicted, and what was loaded stays.
  #loadInBackground(script: Script): void {
    const pending = this.#loads.get(script.sha1)
    if (pending !== undefined && pending !== DONE) return
    const settle = (): void => void this.#loads.set(script.sha1, DONE)
    this.#loads.set(script.sha1, this.load(script).then(settle, settle))
  }
}

const DONE = Promise.resolve()

function undecided({ name }: Script, cause: unknown): LimiterError {
  return failed(`Redis did not decide by ${name}`, cause)
}

function failed(what: string, cause: unknown): LimiterError {
  if (cause instanceof LimiterError) return cause
  const why = cause instanceof Error ? cause.message || cause.name : String(cause)
  return new LimiterError('STORE_FAILED', `${what}: ${why}`, { cause })
}
