// What one call of each rule's script costs the server, by INFO commandstats: beside the scripts that are commonly written for the same rule
// (bench/scripts), those of the peers, and those of an earlier version, all in turns on one server.
//
// npm run bench:redis-scripts [-- --before folder with <name>.lua] [--rounds 12] [--only token-bucket] [--write]
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { assemble } from '../scripts/lua/assemble.mjs'
import { startServer } from './redis-server.mjs'
import { load, markdownTable, median } from './report.mjs'

const { values: given } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '12' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
const ROUNDS = Number(given.rounds)
const CALLS = 400
const HOUR = '3600000'
const MANY = '1000000'
const FEW = '20'

// Each rule: its parameters where everything passes, its parameters where the second call is refused, and the same for scripts of others.
const now = () => `${Date.now()}`
const RULES = {
  'fixed-window': {
    parameters: (limit) => [limit, HOUR, 'clock'],
    before: (limit) => [
      [limit, HOUR],
      ['clock', limit],
    ],
    common: (limit) => [limit, HOUR, now()],
  },
  'sliding-window': {
    parameters: (limit) => [limit, HOUR],
    before: (limit) => [[limit, HOUR], [limit]],
    common: (limit) => [limit, HOUR, now()],
  },
  'token-bucket': {
    parameters: (limit) => [limit, '1', HOUR, limit === MANY ? '0' : limit],
    before: (limit) => [[limit, '1', HOUR], [limit === MANY ? '0' : limit]],
    common: (limit) => [limit, '0.001', now(), '1'],
  },
  'leaky-bucket': {
    parameters: (limit) => [limit, '1', HOUR, 'police', '0', limit === MANY ? '0' : limit],
    before: (limit) => [
      [limit, '1', HOUR],
      ['police', '0', limit === MANY ? '0' : limit],
    ],
    common: (limit) => [limit, '0.001', now()],
  },
  'strict-window': {
    parameters: (limit) => [limit, HOUR, '10'],
    before: (limit) => [
      [limit, HOUR],
      ['10', limit],
    ],
  },
  // What passes finds up to as many entries as calls: few.
  'sliding-log': {
    parameters: (limit) => [limit, HOUR],
    before: (limit) => [[limit, HOUR], [limit]],
    common: (limit) => [limit, HOUR, now()],
    isLog: true,
  },
  concurrency: { parameters: (limit) => [limit, HOUR], before: (limit) => [[limit, HOUR], [limit]], isLog: true },
}

const loadBefore = load()
const server = await startServer()
try {
  const rows = []
  for (const [rule, how] of Object.entries(RULES)) {
    if (given.only === undefined || given.only === rule) rows.push(...(await measureRule(rule, how)))
  }
  if (given.only === undefined || given.only === 'others')
    for (const one of others()) rows.push(await measureOther(one))
  const report = `${server.version}, Node ${process.version}, load ${loadBefore} before and ${load()} at the end; best / median µs of ${ROUNDS} interleaved rounds.

${markdownTable(['script', 'lines', '1 key allowed', '÷', 'refused', '÷', 'blocked', '64 times one key', '128 keys, each'], rows)}`
  console.log(report)
  if (given.write) {
    const page = new URL('README.md', import.meta.url)
    const text = readFileSync(page, 'utf8')
    writeFileSync(
      page,
      text.replace(/(?<=<!-- scripts -->\n)[\s\S]*(?=<!-- \/scripts -->)/, () => `\n${report}\n\n`),
    )
  }
} finally {
  server.stop()
}

async function measureRule(rule, how) {
  const subjects = [ours(rule, how), ...before(rule, how), ...common(rule, how), ...peers(rule)]
  const cases = ['allowed', 'refused', 'blocked', 'times', 'many']
  const seen = new Map(subjects.map((subject) => [subject, Object.fromEntries(cases.map((one) => [one, []]))]))
  for (const { source } of subjects) await server.redis.script('LOAD', source)
  for (let round = 0; round < ROUNDS; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      for (const one of cases) if (subject[one]) seen.get(subject)[one].push(await cost(subject, one, round, how))
    }
    await server.redis.flushall()
  }
  const [own] = subjects
  // By how much ours takes longer: the median of what each round says.
  const ratio = (subject, one) => {
    const [ours, others] = [seen.get(own)[one], seen.get(subject)[one]]
    return subject === own ? '' : median(ours.map((us, round) => us / others[round])).toFixed(2)
  }
  return subjects.map((subject) => {
    const [allowed, refused, ...others] = cases.map((one) => text(seen.get(subject)[one]))
    const lines = `${subject.source.trim().split('\n').length}`
    const ratios = [ratio(subject, 'allowed'), ratio(subject, 'refused')]
    return [`${rule}, ${subject.name}`, lines, allowed, ratios[0], refused, ratios[1], ...others]
  })
}

/** What several limits at once cost, and a reservation: each call, and its row in the table. */
function others() {
  const window = ['sliding-window', MANY, HOUR]
  const bucket = ['token-bucket', MANY, '1', HOUR, '0']
  const fixed = ['fixed-window', MANY, HOUR, 'clock']
  const refusing = ['fixed-window', '1', HOUR, 'clock']
  const hot = (last, count) => ['-1', `${count}`, ...window, '0', ...bucket, '0', ...last, '0', '1', '1', '1']
  const old = (last, count) => {
    const tiers = [...window, '-', '1', ...bucket, '1', ...last, '-', '1']
    return ['-1', count === 1 ? '0' : `${count}*`, ...tiers, ...Array(3 * (count - 1)).fill('1')]
  }
  const keys = (call, count) =>
    Array.from({ length: count }, (_, one) => [`u:${call}:${one}`, `i:${one}`, 'all']).flat()
  const reserve = (word) => (call) => ['-1', '0', ...window, '-', `${word}:1:${call + 1}:60000`]
  const before = (name) => given.before && readFileSync(join(given.before, `${name}.lua`), 'utf8')
  const list = [
    ['three tiers', assemble('tiers', 1), () => hot(fixed, 1), (call) => keys(call, 1)],
    ['three tiers, before', before('tiers'), () => old(fixed, 1), (call) => keys(call, 1)],
    ['three tiers, refused', assemble('tiers', 1), () => hot(refusing, 1), (call) => keys(call, 1)],
    ['three tiers, refused, before', before('tiers'), () => old(refusing, 1), (call) => keys(call, 1)],
    ['three tiers, 40 decisions', assemble('tiers', 1), () => hot(fixed, 40), (call) => keys(call, 40)],
    ['three tiers, 40 decisions, before', before('tiers'), () => old(fixed, 40), (call) => keys(call, 40)],
    ['consume by sluice', assemble('sluice', 1), () => ['-1', '0', ...window, '-', '1'], () => ['k']],
    ['reserve', assemble('sluice', 1), reserve('reserve'), (call) => [`r:${call}`]],
    ['reserve, before', before('tiers'), reserve('hold'), (call) => [`r:${call}`]],
    ['reserve, 50 before it', assemble('sluice', 1), reserve('reserve'), (call) => [`h:${call % 8}`]],
    ['reserve, 50 before it, before', before('tiers'), reserve('hold'), (call) => [`h:${call % 8}`]],
  ]
  return list.filter(([, source]) => source).map(([name, source, args, keysOf]) => ({ name, source, args, keysOf }))
}

async function measureOther({ name, source, args, keysOf }) {
  const { redis } = server
  const sha1 = createHash('sha1').update(source).digest('hex')
  await redis.script('LOAD', source)
  const seen = []
  for (let round = 0; round < ROUNDS; round++) {
    await redis.flushall()
    await redis.config('RESETSTAT')
    for (let sent = 0; sent < CALLS; sent += 20) {
      const calls = Array.from({ length: 20 }, (_, index) => {
        const keys = keysOf(sent + index)
        return ['evalsha', sha1, keys.length, ...keys, ...args(sent + index)]
      })
      const failed = (await redis.pipeline(calls).exec()).find(([error]) => error)
      if (failed) throw new Error(`${name}: ${failed[0].message}`)
    }
    const [, us] = /cmdstat_evalsha:calls=\d+,usec=\d+,usec_per_call=([\d.]+)/.exec(await redis.info('commandstats'))
    seen.push(Number(us))
  }
  return [name, `${source.trim().split('\n').length}`, text(seen), '', '', '', '', '', '']
}

/** The time of one call; of many keys, that of one of them. */
async function cost(subject, one, round, { isLog = false }) {
  const { redis } = server
  const sha1 = createHash('sha1').update(subject.source).digest('hex')
  const size = one === 'many' ? 128 : 1
  const count = one === 'many' ? 20 : one === 'times' ? 40 : CALLS
  // A log grows with every call: each key has few of them.
  const keyOf = (call, index) =>
    `${subject.name}:${one}:${round}:${index}:${isLog && one === 'allowed' ? call % (CALLS / 10) : isLog ? call % 7 : 0}`
  const call = (index) => {
    const keys = Array.from({ length: size }, (_, key) => keyOf(index, key)).flatMap(
      (key) => subject.keys?.(key) ?? [key],
    )
    return ['evalsha', sha1, keys.length, ...keys, ...subject[one]()]
  }
  if (one !== 'allowed') await redis.pipeline(Array.from({ length: 30 }, (_, index) => call(index))).exec()
  await redis.config('RESETSTAT')
  for (let sent = 0; sent < count; sent += 20) {
    const replies = await redis.pipeline(Array.from({ length: 20 }, (_, index) => call(sent + index))).exec()
    const failed = replies.find(([error]) => error)
    if (failed) throw new Error(`${subject.name}, ${one}: ${failed[0].message}`)
  }
  const [, us] = /cmdstat_evalsha:calls=\d+,usec=\d+,usec_per_call=([\d.]+)/.exec(await redis.info('commandstats'))
  return Number(us) / size
}

function ours(rule, { parameters, isLog }) {
  const limit = isLog ? '1000' : MANY
  return {
    name: 'Sluice',
    source: assemble(rule, 1),
    allowed: () => parameters(limit),
    refused: () => parameters(FEW),
    blocked: () => [...parameters(FEW), '-1', HOUR],
    times: () => [...parameters(isLog ? '1000000' : MANY), '-1', '0', '64*1'],
    many: () => parameters(isLog ? '1000' : MANY),
  }
}

function before(rule, how) {
  const file = given.before && join(given.before, `${rule}.lua`)
  if (!file || !existsSync(file)) return []
  const args = (limit, request) => {
    const [required, optional] = how.before(limit)
    return [...required, 'short:-1', request, ...optional]
  }
  const limit = how.isLog ? '1000' : MANY
  return [
    {
      name: 'before',
      source: readFileSync(file, 'utf8'),
      allowed: () => args(limit, '1'),
      refused: () => args(FEW, '1'),
      blocked: () => args(FEW, `1:blockFor:${HOUR}`),
      times: () => args(how.isLog ? '1000000' : MANY, '64*1'),
      many: () => args(how.isLog ? '1000' : MANY, '=1'),
    },
  ]
}

function common(rule, { common: args, isLog }) {
  if (args === undefined) return []
  const source = readFileSync(new URL(`scripts/common-${rule}.lua`, import.meta.url), 'utf8')
  return [{ name: 'as commonly written', source, allowed: () => args(isLog ? '1000' : MANY), refused: () => args(FEW) }]
}

function peers(rule) {
  const upstash = readFileSync(new URL('../node_modules/@upstash/ratelimit/dist/index.mjs', import.meta.url), 'utf8')
  // Only Upstash's own servers know the flag.
  const upstashScript = (name) =>
    new RegExp(`var ${name} = \`#!lua flags=allow-key-locking\n([^\`]+)\``).exec(upstash)[1]
  if (rule === 'fixed-window') {
    const flexible = readFileSync(
      new URL('../node_modules/rate-limiter-flexible/lib/RateLimiterRedis.js', import.meta.url),
      'utf8',
    )
    const redisStore = readFileSync(new URL('../node_modules/rate-limit-redis/dist/index.mjs', import.meta.url), 'utf8')
    const [, flexibleText] = /const incrTtlLuaScript = `([^`]+)`/.exec(flexible)
    const [, increment] = /increment: `([^`]+)`/.exec(redisStore)
    return [
      peer('rate-limit-redis', increment, () => [HOUR]),
      peer('rate-limiter-flexible', flexibleText.replaceAll('\\\n', '\n'), () => ['1', '3600']),
      peer(
        '@upstash/ratelimit',
        upstashScript('fixedWindowLimitScript'),
        (limit) => [limit, HOUR, '1'],
        (key) => [key, ''],
      ),
    ]
  }
  if (rule === 'sliding-window') {
    const keys = (key) => [key, `${key}:before`, '']
    return [
      peer('@upstash/ratelimit', upstashScript('slidingWindowLimitScript'), (limit) => [limit, now(), HOUR, '1'], keys),
    ]
  }
  if (rule !== 'token-bucket') return []
  const args = (limit) => [limit, HOUR, '1', now(), '1']
  return [peer('@upstash/ratelimit', upstashScript('tokenBucketLimitScript'), args, (key) => [key, ''])]
}

function peer(name, source, args, keys) {
  return { name, source, keys, allowed: () => args(MANY), refused: () => args(FEW) }
}

function text(list) {
  if (list.length === 0) return ''
  const sorted = list.toSorted((one, other) => one - other)
  return `${sorted[0].toFixed(1)} / ${sorted[sorted.length >> 1].toFixed(1)}`
}
