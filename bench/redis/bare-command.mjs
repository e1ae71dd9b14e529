const KEY = 'user:bare'

/** The one EVALSHA that a decision on one key sends, as a function that sends it by hand for any key. */
export async function bareCommand(redis, decide) {
  // The first decisions ask what the server is, and load the script.
  for (let index = 0; index < 20; index++) await decide(KEY)
  const [name, sha1, count, key, ...rest] = await commandOf(redis, () => decide(KEY))
  if (!/^evalsha$/i.test(name) || count !== '1')
    throw new Error(`a decision should send an EVALSHA of one key, not ${name}`)
  const prefix = key.slice(0, -KEY.length)
  return (own) => redis.evalsha(sha1, 1, prefix + own, ...rest)
}

async function commandOf(redis, work) {
  const { sendCommand } = redis
  const commands = []
  redis.sendCommand = function send(command, ...others) {
    commands.push([command.name, ...command.args.map(String)])
    return sendCommand.call(this, command, ...others)
  }
  try {
    await work()
  } finally {
    redis.sendCommand = sendCommand
  }
  if (commands.length === 1) return commands[0]
  throw new Error(`a decision should send one command, not ${commands.length}`)
}
