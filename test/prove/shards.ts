import { slidingWindow } from '../../src/rules/index.ts'
import { type Random, randomFrom } from '../../src/simulate/random.ts'
import { VirtualTime } from '../../src/simulate/virtual-time.ts'
import { History } from './history.ts'
import { Process } from './process.ts'
import { Server } from './server.ts'

/** Many keys on several servers, of which few get most requests. */
export interface Fleet {
  readonly processes: number
  /** Requests a second, of each process. */
  readonly rate: number
  readonly keys: number
  readonly shards: number
  /** To how many of the processes the requests of a key go. */
  readonly routes: number
  /** How long a grant is used. */
  readonly maxMs: number
}

/** What came of it. */
export interface FleetMeasured {
  /** The share of all requests that no server is asked about. */
  readonly local: number
  /** Decisions a second of each server, the busiest first. */
  readonly asked: readonly number[]
}

/** Keys are hot by then, and have asked again. */
const WARM = 2.5
const MEASURED = 1.5

/** Nothing is replayed here, and there are too many to keep. */
class Forgetting extends History {
  override add(): void {}
}

/** Plays processes on servers that have enough for all requests. Keys are asked for by Zipf: the second half as often as the first. */
export function playFleet({ processes, rate, keys, shards, routes, maxMs }: Fleet): FleetMeasured {
  const random = randomFrom(keys)
  const time = new VirtualTime()
  const servers = Array.from({ length: shards }, () => new Server(time, new Forgetting(), {}))
  const places = new Map(Array.from({ length: keys }, (_, key) => [`${key}`, servers[random.whole(0, shards - 1)]]))
  const rule = slidingWindow({ limit: 1_000_000_000, window: 60_000 })
  let ids = 0
  const server = (key: string): Server => places.get(key) as Server
  const world = { time, random, rule, server, maxMs, createId: () => ++ids }
  const all = Array.from({ length: processes }, () => new Process(world))
  const pick = zipf(keys, random)
  let requests = 0
  const arrive = (): void => {
    const key = pick()
    all[(key + random.whole(0, routes - 1)) % processes]?.consume(`${key}`)
    requests++
    time.after((1_000 * random.exponential()) / (rate * processes), arrive)
  }
  const count = (): readonly number[] =>
    servers.map((server) => all.reduce((total, process) => total + process.countAsked(server), 0))
  arrive()
  time.run(WARM * maxMs)
  const [askedBefore, before] = [count(), requests]
  time.run((WARM + MEASURED) * maxMs)
  const asked = count().map((decisions, index) => decisions - (askedBefore[index] as number))
  const sum = asked.reduce((total, one) => total + one, 0)
  return {
    local: 1 - sum / (requests - before),
    asked: asked.map((one) => (one * 1_000) / (MEASURED * maxMs)).sort((one, other) => other - one),
  }
}

/** A hundredth of ten million requests a second. The least of the keys gets as many as the least of 100,000 keys would of all. */
const PART = { processes: 10, rate: 10_000, keys: 1_500, shards: 8 }

/** What ten processes ask eight servers, by where requests go and how long grants are used: a row each. */
export function* measureFleets(): Generator<readonly string[]> {
  for (const routes of [PART.processes, 1]) {
    for (const maxMs of [100, 1_000]) {
      const { local, asked } = playFleet({ ...PART, routes, maxMs })
      const print = (value = 0): string => Math.round(value).toLocaleString('en-US')
      const sum = asked.reduce((total, one) => total + one, 0)
      const where = routes === 1 ? 'its own process' : 'any process'
      yield [where, `${maxMs} ms`, `${(100 * local).toFixed(1)} %`, print(sum), print(asked[0]), print(asked.at(-1))]
    }
  }
}

function zipf(keys: number, random: Random): () => number {
  const sums = new Float64Array(keys)
  let sum = 0
  for (let key = 0; key < keys; key++) {
    sum += 1 / (key + 1)
    sums[key] = sum
  }
  return () => {
    const at = random.next() * sum
    let [low, high] = [0, keys - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] as number) < at) low = middle + 1
      else high = middle
    }
    return low
  }
}
