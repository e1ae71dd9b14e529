import { createLimit } from '../../src/core/limit.ts'
import { createOperation, type OperationParts } from '../../src/core/operation.ts'
import type { Rule } from '../../src/core/rule.ts'
import { VirtualTime } from '../../src/simulate/virtual-time.ts'
import { measureLifeMs } from '../../src/stores/prefetch/grant-life.ts'
import { History } from './history.ts'
import { Server } from './server.ts'

/**
 * A window of its own opens with a unit of a grant from the window before, and the server opens it with a request that comes later: so
 * the next one opens too late there as well. Returns the units that the rule itself refuses.
 */
export function playLateWindow(rule: Rule): number {
  const time = new VirtualTime()
  const history = new History()
  const server = new Server(time, history, {})
  const limit = createLimit({ limiter: 'all', rule })
  const place = { limit, subject: 'hot', key: 'hot' }
  const windowMs = rule.windowMs as number
  const decide = (atMs: number, type: 'consume' | 'grant', parts: OperationParts) => {
    time.run(atMs)
    return server.decide([createOperation(place, type, parts)])[0]?.granted
  }
  decide(0, 'consume', { amount: 1 })
  const askedMs = windowMs - 10
  const grant = { want: 10, soon: 10, soonMs: windowMs, endedId: 0, endedUsed: 0 }
  const given = decide(askedMs, 'grant', { amount: 1, holdId: 1, holdMs: windowMs, grant })
  const spentMs = windowMs + 5
  time.run(spentMs)
  if (spentMs < askedMs + measureLifeMs(given?.lastsMs ?? 0)) {
    const one = { limit: limit.name, key: 'hot', rule, type: 'consume' as const, parts: { amount: 1 }, isLocal: true }
    history.add({ atMs: spentMs, dateMs: server.dateMs, ...one })
  }
  decide(1.9 * windowMs, 'consume', { amount: 1 })
  // The third window, by what was really spent. By the server it is still the second.
  decide(2 * windowMs + 10, 'consume', { amount: rule.limit / 2 })
  decide(2.9 * windowMs + 5, 'consume', { amount: rule.limit })
  return history.replay().reduce((sum, { units }) => sum + units, 0)
}
