/**
 * Throws unless a limiter of two admits two of three, by keys that it keeps in Redis: no number may be about nothing. What does not
 * count in Redis, or counts wrongly when it is asked one by one, has no place in a table about Redis.
 */
export async function checkThatItCounts(redis, { name, open }) {
  // Another one in every process, as they share the server; and all of them make it a part of their keys.
  const limiterName = `sanity-${process.pid}`
  const decide = await open({ redis, name: limiterName, limit: 2, windowMs: 3_600_000 })
  const outcomes = [await decide('one'), await decide('one'), await decide('one')]
  if (outcomes.join() !== 'true,true,false') throw new Error(`${name} answers ${outcomes} to a limit of two`)
  const keys = await redis.keys(`*${limiterName}*`)
  if (keys.length === 0) throw new Error(`${name} keeps nothing in Redis`)
  await redis.del(keys)
}
