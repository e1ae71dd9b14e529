import { createHash } from 'node:crypto'
import { ruleOf } from './subjects.mjs'

const EMPTY = 'return 1'
const KINDS = ['fixedWindow', 'slidingWindow', 'tokenBucket']

/**
 * For each client and rule: `decide`, one decision of ours; `bare`, the very command that it sends, sent by hand; and `empty`, a script
 * that does nothing on the same key, for orientation.
 */
export async function aloneSubjects(port) {
  const { Redis } = await import('ioredis')
  const { createClient } = await import('redis')
  const ioredis = new Redis(port, '127.0.0.1')
  const nodeRedis = await createClient({ url: `redis://127.0.0.1:${port}` }).connect()
  const clients = [
    {
      client: 'ioredis',
      redis: ioredis,
      send: ([name, ...args]) => ioredis[name.toLowerCase()](...args),
      spy: spyOnIoredis,
    },
    { client: 'node-redis', redis: nodeRedis, send: (command) => nodeRedis.sendCommand(command), spy: spyOnNodeRedis },
  ]
  const subjects = []
  for (const each of clients) for (const kind of KINDS) subjects.push(await subjectOf(each, kind))
  const end = () => {
    ioredis.disconnect()
    nodeRedis.destroy()
  }
  return { subjects, end }
}

async function subjectOf({ client, redis, send, spy }, kind) {
  const { createLimiter, ...rules } = await import('sluice')
  const { redisStore } = await import('sluice/redis')
  const rule = ruleOf(rules, kind, { limit: 1_000_000_000, windowMs: 3_600_000 })
  const limiter = createLimiter({ name: 'alone', rule, store: redisStore(redis) })
  const key = `user:${client}`
  // The first decisions ask what the server is, and load the script.
  for (let index = 0; index < 20; index++) await limiter.consume(key)
  const command = await sentBy(redis, spy, () => limiter.consume(key))
  await send(['EVAL', EMPTY, '0'])
  const empty = ['EVALSHA', createHash('sha1').update(EMPTY).digest('hex'), '1', command[3]]
  return {
    name: `${client}, ${kind}`,
    ways: { decide: () => limiter.consume(key), bare: () => send(command), empty: () => send(empty) },
  }
}

/** The one command that `work` sends. */
async function sentBy(redis, spy, work) {
  const commands = []
  const stop = spy(redis, (command) => commands.push(command))
  await work()
  stop()
  if (commands.length === 1 && /^evalsha$/i.test(commands[0][0])) return commands[0]
  throw new Error(
    `a decision should send one EVALSHA, and sent ${commands.map(([name]) => name).join(', ') || 'nothing'}`,
  )
}

function spyOnIoredis(redis, note) {
  const { sendCommand } = redis
  redis.sendCommand = function send(command, ...rest) {
    note([command.name, ...command.args])
    return sendCommand.call(this, command, ...rest)
  }
  return () => {
    redis.sendCommand = sendCommand
  }
}

function spyOnNodeRedis(redis, note) {
  const { sendCommand } = redis
  redis.sendCommand = function send(command, ...rest) {
    note(command)
    return sendCommand.call(this, command, ...rest)
  }
  return () => {
    redis.sendCommand = sendCommand
  }
}
