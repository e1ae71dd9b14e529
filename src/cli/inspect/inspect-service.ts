import { show } from '../../core/check.ts'
import type { Decision, TierResult } from '../../core/decision.ts'
import type { Key } from '../../limiter/options.ts'
import { parseKey } from '../command/key-argument.ts'
import type { ServiceClient } from '../command/service-client.ts'
import { UsageError } from '../terminal/command-failure.ts'
import type { InspectedLimit, Inspection } from './inspection.ts'

/** A policy as a service reports it. */
export interface ServedPolicy {
  readonly name: string
  readonly isTiered: boolean
  readonly tiers: readonly InspectedLimit[]
}

/** The policy of a service by its name. */
export async function fetchPolicy(service: ServiceClient, name: string): Promise<ServedPolicy> {
  const { policies } = (await service.get('/v1/policies')) as { policies: readonly ServedPolicy[] }
  const found = policies.find((policy) => policy.name === name)
  if (found !== undefined) return found
  const names = policies.map((policy) => policy.name).join(', ')
  throw new UsageError(`the service has no policy ${show(name)}: it has ${names}`)
}

/** The key that a text means by a policy of a service. */
export function parseServedKey({ isTiered, tiers }: ServedPolicy, text: string): Key<string> {
  return parseKey(text, isTiered ? tiers.map(({ name }) => name) : [])
}

/** Asks a service what a request would get. It takes nothing, and does not show its stored counts. */
export async function inspectService(
  service: ServiceClient,
  policyName: string,
  text: string,
  cost: number,
): Promise<Inspection> {
  const policy = await fetchPolicy(service, policyName)
  const key = parseServedKey(policy, text)
  const atMs = Date.now()
  const reply = (await service.post('/v1/peek', { policy: policyName, key, cost })) as Decision
  const decision = reviveDecision(reply)
  const limits = policy.tiers.filter(({ name }) => !policy.isTiered || name in decision.tiers)
  return { policy: policyName, key: text, cost, place: service.place, atMs, decision, limits }
}

/** A decision as the library has it: JSON has no `Infinity`, and says `null`. */
function reviveDecision(reply: Decision): Decision {
  const tiers = Object.entries(reply.tiers as Record<string, TierResult>).map(([name, tier]) => [
    name,
    reviveVerdict(tier),
  ])
  const limitedBy = reply.limitedBy ?? undefined
  return { ...reviveVerdict(reply), tiers: Object.fromEntries(tiers), limitedBy } as Decision
}

function reviveVerdict<Reply extends TierResult>(reply: Reply): Reply {
  return { ...reply, retryAfterMs: reply.retryAfterMs ?? Number.POSITIVE_INFINITY, reason: reply.reason ?? undefined }
}
