/**
 * Lets a client of ioredis ask for the server's time right before and right after each script, in one go: no other client comes between. What
 * runs because of a script's reply runs before that of the next one, and `current()` says when the server ran the script meanwhile.
 */
export function dateScripts(redis) {
  let current
  let delivered = 0
  let isDelivering = false
  const replies = []

  const deliver = async () => {
    isDelivering = true
    for (let next = replies.shift(); next !== undefined; next = replies.shift()) {
      current = next.range
      delivered++
      next.resolve(next.reply)
      for (let tick = 0; tick < TICKS; tick++) await undefined
      current = undefined
    }
    isDelivering = false
  }

  const send = redis.sendCommand.bind(redis)
  const time = async () => {
    const [seconds, micros] = await redis.time()
    return seconds * 1_000 + micros / 1_000
  }
  redis.sendCommand = (command, stream) => {
    if (command.name !== 'evalsha') return send(command, stream)
    // Written together, or the server might do something else in between.
    redis.stream?.cork()
    const before = time()
    const sent = send(command, stream)
    const after = time()
    redis.stream?.uncork()
    // When the connection breaks in between there is no reply either.
    const range = Promise.all([before, after])
    range.catch(() => {})
    // The store puts a function of its own there first.
    queueMicrotask(() => {
      const { resolve } = command
      command.resolve = (reply) => {
        range.then(
          (dates) => {
            replies.push({ range: dates, reply, resolve })
            if (!isDelivering) void deliver()
          },
          (error) => command.reject(error),
        )
      }
    })
    return sent
  }
  return {
    current: () => current,
    /** How many replies have come. */
    count: () => delivered,
  }
}

// More than there are promises between a reply and the decision that it makes.
const TICKS = 40
