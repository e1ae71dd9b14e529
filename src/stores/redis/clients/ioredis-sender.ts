import { NoAnswer } from '../../../core/no-answer.ts'
import { findTrouble } from './client-trouble.ts'
import { connectionLost } from './connection-lost.ts'
import { listenToErrors } from './ioredis-errors.ts'
import { clientClosed, NotSent } from './not-connected.ts'
import type { Delivery } from './redis-connection.ts'
import { NOT_TRIED_AGAIN } from './server-words.ts'

/** A client of ioredis or of its fork iovalkey: one server, Sentinel or Cluster. */
export interface IoredisLike {
  readonly isCluster: boolean
  readonly status: string
  readonly options?: { readonly keyPrefix?: string | undefined } | undefined
  call(command: string, args: string[]): Promise<unknown>
  // What it holds is untyped in ioredis too.
  createBuiltinCommand(command: string): { string: unknown }
}

/** An instance of the client's `Command`, as far as it is of use here. Its text is made of `name` and `args` each time it is written. */
interface IoredisCommand {
  name: string
  args: readonly unknown[]
  resolve(reply: unknown): unknown
  reject(error: Error): void
  toWritable(stream: unknown): unknown
}

type CommandClass = new (name: string, args: readonly string[], options: CommandOptions) => IoredisCommand

interface CommandOptions {
  readonly keyPrefix: string | undefined
  readonly replyEncoding: 'utf8'
}

interface IoredisSender extends IoredisLike {
  readonly manuallyClosing?: boolean
  sendCommand(command: IoredisCommand): Promise<unknown>
  on(event: 'close', listener: () => void): unknown
}

/** The sender of a client: one for all stores on it, so that it gets one listener of ours. */
export function findSender(client: IoredisLike): CommandSender {
  const known = SENDERS.get(client) ?? new CommandSender(client as IoredisSender)
  SENDERS.set(client, known)
  return known
}

const SENDERS = new WeakMap<IoredisLike, CommandSender>()

/**
 * Sends commands through a client and keeps hold of them. ioredis queues a command while it is not connected, and writes again what
 * was not answered when a connection broke: a command that was withdrawn becomes a PING, and one whose reply was lost rejects.
 */
class CommandSender {
  readonly #client: IoredisSender
  readonly #options: CommandOptions
  readonly #written = new Set<IoredisCommand>()
  readonly #trouble: ReturnType<typeof findTrouble>
  /** Found with the first command. */
  #Command: CommandClass | undefined

  constructor(client: IoredisSender) {
    this.#client = client
    this.#options = { keyPrefix: client.options?.keyPrefix, replyEncoding: 'utf8' }
    this.#trouble = findTrouble(client, listenToErrors)
  }

  // Not `call`, which automatic pipelining takes part in: a pipeline of which only some keys have moved is not redirected, iovalkey
  // would pipeline by the slot of the script's hash instead of the key's, and we have pipelines of our own.
  readonly send = (_key: string | undefined, given: readonly string[], delivery?: Delivery): Promise<unknown> => {
    const client = this.#client
    const Command = this.#Command ?? this.#start()
    // It would write it behind its QUIT, where no server reads it.
    if (client.manuallyClosing === true) return Promise.reject(clientClosed())
    // Only the lower-case names are known to all versions, and only of a known command are the keys found, prefixed and routed.
    const command = new Command((given[0] as string).toLowerCase(), given.slice(1), this.#options)
    let isUnsent = true
    const { reject: tell } = command
    command.reject = (error) => tell.call(command, isUnsent ? unsent(error) : error)
    const sent = client.sendCommand(command)
    // Only now: a Cluster has put a function of its own there, which follows slots that move and would also send again what was lost.
    const { resolve, reject } = command
    command.resolve = (reply) => {
      this.#written.delete(command)
      return resolve(reply)
    }
    command.reject = (error) => {
      this.#trouble.hear(error)
      isUnsent = !this.#written.delete(command)
      const isLost = !isUnsent && error.message === CLOSED
      if (error.message === TIMED_OUT) withdraw(command)
      reject.call(command, isLost ? connectionLost(error) : inOurWords(error))
    }
    delivery?.onWithdraw(() => withdraw(command))
    return sent
  }

  #start(): CommandClass {
    this.#Command = noteWritten(findCommandClass(this.#client), this.#written)
    // A Cluster needs no listener: its connections reject what they lose, each when it closes.
    if (!this.#client.isCluster) this.#client.on('close', () => this.#lose())
    return this.#Command
  }

  #lose(): void {
    for (const command of this.#written) {
      withdraw(command)
      command.reject(connectionLost())
    }
  }
}

/** The `Command` class of the client's own ioredis, of which a client makes its commands: only a single client also names it. */
function findCommandClass(client: IoredisLike): CommandClass {
  const make = client.createBuiltinCommand('ping').string as (this: unknown) => IoredisCommand
  const made = make.call({ options: {}, sendCommand: (command: IoredisCommand) => command })
  return made.constructor as CommandClass
}

// What a server has said is no matter of sending, and a time limit has an error of its own.
function unsent(error: Error): Error {
  if (error.message === CLOSED) return clientClosed(error)
  return error.name === 'ReplyError' || error instanceof NoAnswer ? error : new NotSent(error.message, { cause: error })
}

function inOurWords(error: Error): Error {
  const { message } = error
  if (message === TIMED_OUT) return new NoAnswer('no answer within the commandTimeout of the client', { cause: error })
  // A Cluster would wait 100 ms each time and not report it, so that keys of a slot that moves could not be sent apart.
  return message.startsWith('TRYAGAIN ') ? new Error(NOT_TRIED_AGAIN + message, { cause: error }) : error
}

/** The same commands, which note when their text is made. */
function noteWritten(Command: CommandClass, written: Set<IoredisCommand>): CommandClass {
  return class extends Command {
    override toWritable(stream: unknown): unknown {
      written.add(this)
      return super.toWritable(stream)
    }
  }
}

/** Makes sure that a command is never written as what it was. The client still waits for a reply to it, so it is not left out. */
function withdraw(command: IoredisCommand): void {
  command.name = 'ping'
  command.args = []
}

/** What ioredis says of commands on a connection that has closed for good. */
const CLOSED = 'Connection is closed.'

/** What it says after its `commandTimeout`. A command that it has queued it would still send. */
const TIMED_OUT = 'Command timed out'
