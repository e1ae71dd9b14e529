import { createLimit, type Limit } from '../../src/core/limit.ts'
import type { LimitKey } from '../../src/core/operation.ts'
import type { Rule } from '../../src/core/rule.ts'
import { randomFrom } from '../../src/simulate/random.ts'
import { driftingClock, VirtualTime } from '../../src/simulate/virtual-time.ts'
import { Caller, type Mix } from './caller.ts'
import { History } from './history.ts'
import { Hoarder } from './hoarder.ts'
import { Network } from './network.ts'
import { Server, type ServerMistakes } from './server.ts'

/** What is done wrong on purpose. */
export interface Mistakes extends ServerMistakes {
  readonly misread?: (lastsMs: number, tookMs: number) => number
  /** Ids of several processes are the same. */
  readonly collides?: boolean
  /** What becomes of a rule. */
  readonly spoil?: (rule: Rule) => Rule
}

/** What happens in a schedule beyond requests on one key. */
export interface Surroundings {
  readonly tiers?: boolean
  /** Few processes, all of which hoard: a window may open with what was given before it. */
  readonly quiet?: boolean
  readonly mix?: Partial<Mix>
  /** The server's clock jumps forward. */
  readonly jumps?: boolean
  /** The rule changes in the middle. */
  readonly other?: (rule: Rule) => Rule
}

/** What came of a schedule. */
export interface Played {
  readonly admitted: number
  readonly local: number
  /** Units that the rule itself refuses, beyond what a jump or a change of rules may let pass. */
  readonly over: number
  /** What passed because of these, and what may have at most. */
  readonly excused: number
  readonly excusable: number
  /** Keys that were used from grants after they were blocked, longer than that may last. */
  readonly late: number
}

const NO_MIX: Mix = { refunds: 0, charges: 0, holds: 0, resets: 0, blocks: 0, peeks: 0 }

/** Plays some seconds in the lives of several processes on one rule. */
export function play(
  rule: Rule,
  seed: number,
  lengthMs: number,
  mistakes: Mistakes = {},
  { tiers = false, quiet = false, mix = {}, jumps = false, other }: Surroundings = {},
): Played {
  const random = randomFrom(seed)
  const time = new VirtualTime()
  const history = new History()
  const server = new Server(time, history, mistakes)
  const played = mistakes.spoil?.(rule) ?? rule
  const changed = other?.(played)
  const changeMs = lengthMs / 2 + 137
  const ruleNow = (limit: Limit): Rule => (changed !== undefined && time.nowMs >= changeMs ? changed : limit.rule)
  const grantMs = random.whole(30, 1_000)
  const maxMs = random.whole(50, 300)
  const longestMs = random.next() < 0.6 ? random.whole(1, 30) : Math.floor(random.next() * 1.3 * grantMs)
  const timeoutMs = 2 * longestMs + random.whole(20, 300)
  const places = (): readonly LimitKey[] => {
    const prefetch = { maxMs, maxShare: 0.5 }
    const limit = createLimit({ limiter: 'all', rule: played, prefetch, rulesVary: other !== undefined })
    const user = createLimit({ limiter: 'user', rule: played, prefetch: random.next() < 0.7 ? prefetch : undefined })
    const shadow = createLimit({ limiter: 'shadow', rule: played, prefetch, shadow: true })
    const all = { limit, subject: 'hot', key: 'hot' }
    const own = { limit: user, subject: 'user', key: `user ${random.whole(1, 2)}` }
    return tiers ? [all, own, { limit: shadow, subject: 'hot', key: 'hot' }] : [all]
  }
  const blocks: { readonly place: LimitKey; readonly atMs: number; readonly untilMs: number }[] = []
  const createId = mistakes.collides ? () => random.whole(1, 3) : createCounter()
  const hoarders = quiet || random.next() < 0.5 ? 1 : random.next()
  const processes = random.whole(1, quiet ? 3 : tiers ? 5 : 8)
  for (let count = 0; count < processes; count++) {
    start(random.next() < hoarders)
  }
  const perils = schedulePerils()
  time.run(lengthMs + 5_000)
  return judge()

  /** A process that may crash, or end well; another one takes its place. */
  function start(isHoarder: boolean): void {
    const drift = 0.0009 * (2 * random.next() - 1)
    const clock = driftingClock(time, 1_000_000 * random.next(), drift)
    // Most are quick, and some take as long as it gets.
    const delayMs = (): number => longestMs * random.next() ** 4
    const terms = { delayMs, lost: 0.03, resent: 0.02, timeoutMs, misread: mistakes.misread }
    const network = new Network(time, server, random, terms)
    const common = { time, server, network, history, random, clock, createId }
    const mine = places()
    const rate = ((0.5 + 2.5 * random.next()) * rule.limit) / (rule.windowMs ?? 1) / processes
    const caller = new Caller({
      ...common,
      places: mine,
      rule: ({ limit }) => ruleNow(limit),
      rate: Math.max(rate, 12 / maxMs),
      mix: { ...NO_MIX, ...mix },
      denialCacheMs: random.next() < 0.3 ? 0 : random.whole(5, 1_000),
      blocked: (place, atMs, untilMs) => blocks.push({ place, atMs, untilMs }),
    })
    // A hoarder knows one key and one rule.
    if (isHoarder && !tiers && changed === undefined && mix.blocks === undefined) {
      new Hoarder({ ...common, grantMs, takes: !quiet, place: mine[0] as LimitKey }).start()
    } else caller.start()
    time.after(random.exponential() * 3_000, () => {
      if (time.nowMs > lengthMs) return
      if (random.next() < 0.5) caller.stop()
      network.isAlive = false
      start(isHoarder)
    })
    time.after(Math.max(0, lengthMs - time.nowMs), () => {
      network.isAlive = false
    })
  }

  /** What a jump of the server's clock, or a change of the rule, may let pass once: all that was in hand then. */
  function schedulePerils(): Peril[] {
    const list: Peril[] = []
    if (changed !== undefined) {
      time.after(changeMs, () => {
        const fromMs = server.dateMs
        // Requests under way bring what they were given by the rule before. What is counted is recounted as a share of the limit, and
        // what is lent stays as many units as it is.
        const ratio = Math.max(played.limit / changed.limit, changed.limit / played.limit)
        list.push({ fromMs, units: () => ratio * server.countLent(fromMs, fromMs + timeoutMs) })
      })
    }
    for (let atMs = 1_500; jumps && atMs < lengthMs; atMs += 1_500) {
      time.after(atMs, () => {
        const units = server.countLent(server.dateMs, server.dateMs)
        server.jump(random.whole(1, 2_000))
        list.push({ fromMs: server.dateMs, units: () => units })
      })
    }
    return list
  }

  function judge(): Played {
    let over = 0
    let excused = 0
    // Who opens a window of its own after a reset is not known where units are out. That may let a window pass once.
    if (rule.parameters.anchor === 'first-hit') {
      for (const fromMs of server.resetMs) perils.push({ fromMs, units: () => rule.limit })
    }
    for (const { dateMs, units } of history.replay(changed)) {
      const most = perils.reduce((sum, peril) => sum + (peril.fromMs <= dateMs ? peril.units() : 0), 0)
      if (excused + units > most) over += units
      else excused += units
    }
    const late = blocks.filter(({ place: { limit, key }, atMs, untilMs }) => {
      return history.hasLocal(limit.name, key, atMs + maxMs + timeoutMs, untilMs)
    })
    const { admitted, local } = history
    const excusable = perils.reduce((sum, { units }) => sum + units(), 0)
    return { admitted, local, over, excused, excusable, late: late.length }
  }
}

/** A time from which on more may pass than the rule says, once, and how much. */
interface Peril {
  readonly fromMs: number
  units(): number
}

function createCounter(): () => number {
  let last = 0
  return () => ++last
}
