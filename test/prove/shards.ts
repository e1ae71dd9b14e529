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
}

/** What came of it. */
export interface FleetMeasured {
  /** The share of all requests that no server is asked about. */
  readonly local: number
  /** Decisions a second of each server, the busiest first. */
  readonly asked: readonly number[]
}

const WARM_MS = 250
const MEASURED_MS = 150

/** Nothing is replayed here, and there are too many to keep. */
class Forgetting extends History {
  override add(): void {}
}

/** Plays processes on servers that have enough for all requests. Keys are asked for by Zipf: the second half as often as the first. */
export function playFleet({ processes, rate, keys, shards, routes }: Fleet): FleetMeasured {
  const random = randomFrom(keys)
  const time = new VirtualTime()
  const servers = Array.from({ length: shards }, () => new Server(time, new Forgetting(), {}))
  const places = new Map(Array.from({ length: keys }, (_, key) => [`${key}`, servers[random.whole(0, shards - 1)]]))
  const rule = slidingWindow({ limit: 1_000_000_000, window: 60_000 })
  let ids = 0
  const server = (key: string): Server => places.get(key) as Server
  const all = Array.from(
    { length: processes },
    () => new Process({ time, random, rule, server, createId: () => ++ids }),
  )
  const pick = zipf(keys, random)
  let requests = 0
  const arrive = (): void => {
    const key = pick()
    all[(key + random.whole(0, routes - 1)) % processes]?.consume(`${key}`)
    requests++
    time.after((1_000 * random.exponential()) / (rate * processes), arrive)
  }
  const count = (): readonly number[] =>
    servers.map((server) => all.reduce((sum, process) => sum + process.countAsked(server), 0))
  arrive()
  time.run(WARM_MS)
  const [askedBefore, before] = [count(), requests]
  time.run(WARM_MS + MEASURED_MS)
  const asked = count().map((decisions, index) => decisions - (askedBefore[index] as number))
  const sum = asked.reduce((all, one) => all + one, 0)
  return {
    local: 1 - sum / (requests - before),
    asked: asked.map((one) => (one * 1_000) / MEASURED_MS).sort((one, other) => other - one),
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
