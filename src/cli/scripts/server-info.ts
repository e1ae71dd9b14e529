/** What a server reports in INFO, by name. */
export type Info = ReadonlyMap<string, string>

/** Reads the reply to INFO. */
export function readInfo(text: string): Info {
  return new Map(text.split('\r\n').map((line) => line.split(/:(.*)/s) as [string, string]))
}

/** `Redis 7.0.15, primary`. */
export function formatEngine(info: Info): string {
  const valkey = info.get('valkey_version')
  const role = info.get('role') === 'master' ? 'primary' : 'replica'
  return `${valkey === undefined ? `Redis ${info.get('redis_version')}` : `Valkey ${valkey}`}, ${role}`
}

const OLDEST = 6

/** Why limits cannot be counted on a server. */
export function listServerProblems(info: Info): readonly string[] {
  const problems: string[] = []
  if (Number.parseInt(`${info.get('redis_version')}`, 10) < OLDEST)
    problems.push(`Redis before ${OLDEST}.0 was not tried`)
  if (info.get('role') !== 'master') problems.push('it is a replica, and takes no writes')
  return problems
}

/** What of a full memory makes a server forget counts that still matter. */
const FORGETFUL = /^(?:allkeys-|volatile-(?!ttl))/

/** What a server does when its memory is full that loses counts. */
export function listEvictionWarnings(info: Info): readonly string[] {
  const policy = `${info.get('maxmemory_policy')}`
  if (info.get('maxmemory') === '0' || !FORGETFUL.test(policy)) return []
  return [`maxmemory-policy is ${policy}, so a full memory forgets counts: noeviction or volatile-ttl keep them`]
}
