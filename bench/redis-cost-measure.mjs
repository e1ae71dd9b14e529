/** How many decisions go out in one write, and how many keys in one call. */
export const GROUP = 64
/** How many decisions a round takes in groups, and again in calls of many keys; and how many one by one. */
export const DECISIONS = 2_048
export const ALONE = 256

const FILLED = 'user:1234567'

/** The bytes that a user's keys take, their names included. Asked before any call of many keys, whose buffers Redis would reuse for values. */
export async function memoryOf(redis, subject) {
  await subject.fill(FILLED)
  let bytes = 0
  for (const key of subject.keysOf(FILLED)) bytes += await redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')
  await redis.flushall()
  return bytes
}

/** One round of a subject on an empty server: what a decision costs alone, in a group, and in a call of many keys. */
export async function measure(redis, subject) {
  const { decide, decideMany, decisions = DECISIONS } = subject
  await redis.script('LOAD', subject.source)
  await subject.fill(FILLED)
  const grouped = await costOf(redis, subject, decisions, (users) =>
    inTurn(groupsOf(users), (group) => inOneWrite(redis, decide, group)),
  )
  const alone = await costOf(redis, subject, Math.min(ALONE, decisions), (users) => inTurn(users, decide))
  const many = decideMany && (await costOf(redis, subject, decisions, (users) => inTurn(groupsOf(users), decideMany)))
  await redis.flushall()
  return { grouped, alone, many }
}

/** Each of `count` users has a copy of the filled key and one decision, so that all decisions meet the same state. */
async function costOf(redis, subject, count, decideAll) {
  const users = Array.from({ length: count }, (_, index) => `user:${2_000_000 + index}`)
  const copies = redis.pipeline()
  const filled = subject.keysOf(FILLED)
  for (const user of users) {
    for (const [index, key] of subject.keysOf(user).entries()) copies.copy(filled[index], key, 'REPLACE')
  }
  await copies.exec()
  await redis.config('RESETSTAT')
  const cpuBefore = await cpuUs(redis)
  const { bytesWritten, bytesRead } = redis.stream
  if (!(await decideAll(users)).every(Boolean)) {
    throw new Error(`${subject.name}: somebody was not ${subject.outcome}; if an hour has just begun, run it again`)
  }
  const sent = redis.stream.bytesWritten - bytesWritten
  const received = redis.stream.bytesRead - bytesRead
  const cpu = (await cpuUs(redis)) - cpuBefore
  const { calls, scriptUs } = commandStats(await redis.info('commandstats'), count)
  return { sent: sent / count, received: received / count, cpuUs: cpu / count, scriptUs, calls }
}

/** Waits for each: what the client does meanwhile would take processor time from the server. */
async function inTurn(parts, decide) {
  const outcomes = []
  for (const part of parts) outcomes.push(await decide(part))
  return outcomes
}

function groupsOf(users) {
  const count = Math.ceil(users.length / GROUP)
  return Array.from({ length: count }, (_, index) => users.slice(index * GROUP, (index + 1) * GROUP))
}

/** As a client sends them that joins its writes: every decision a command of its own, all of them together. */
async function inOneWrite(redis, decide, users) {
  redis.stream.cork()
  const decisions = users.map(decide)
  redis.stream.uncork()
  return (await Promise.all(decisions)).every(Boolean)
}

/** What a script has called for one decision, with a number unless once, and how long it took. */
function commandStats(info, count) {
  const lines = Array.from(info.matchAll(/^cmdstat_(\w+):calls=(\d+),usec=(\d+)/gm))
  const rows = lines.map(([, name, calls, us]) => ({ name: name.toUpperCase(), calls: calls / count, us: us / count }))
  const called = rows.filter(({ name }) => name !== 'EVALSHA' && name !== 'INFO')
  // What few decisions add, such as those that a hot script has handed over before its limit starts at the full one, is left out.
  const rounded = called.map(({ name, calls }) => ({ name, times: Math.round(10 * calls) / 10 }))
  const calls = rounded
    .flatMap(({ name, times }) => (times === 0 ? [] : [times === 1 ? name : `${times} ${name}`]))
    .sort()
  return { calls: calls.join(' '), scriptUs: rows.find(({ name }) => name === 'EVALSHA').us }
}

/** What the thread that runs all commands has taken so far, reading and answering included. */
async function cpuUs(redis) {
  const seconds = (await redis.info('cpu')).matchAll(/^used_cpu_(?:user|sys)_main_thread:([\d.]+)/gm)
  return Array.from(seconds, ([, text]) => 1e6 * Number(text)).reduce((sum, part) => sum + part, 0)
}
