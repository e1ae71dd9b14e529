import { createHash } from 'node:crypto'

const FLAGS = /^#!lua[^\n]*\n/

/**
 * What @upstash/ratelimit asks of a client, on ioredis. Its scripts begin with a flag that only Upstash's own server knows and that
 * Redis refuses: that line is left out, everything else is as it comes.
 */
export function upstashClient(redis) {
  const known = new Map()
  return {
    async evalsha(hash, keys, args) {
      const sha1 = known.get(hash)
      if (sha1 === undefined) throw new Error('NOSCRIPT')
      return redis.evalsha(sha1, keys.length, ...keys, ...args)
    },
    async eval(script, keys, args) {
      const text = script.replace(FLAGS, '')
      known.set(sha1Of(script), sha1Of(text))
      return redis.eval(text, keys.length, ...keys, ...args)
    },
  }
}

function sha1Of(text) {
  return createHash('sha1').update(text).digest('hex')
}
