import type { Command } from 'commander'
import type { Key } from '../../limiter/options.ts'
import type { Policies, Policy } from '../../policies/read-policies.ts'
import { REDIS_OPTION } from '../redis/redis-option.ts'
import { UsageError } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { KEY_HELP, parseKey } from './key-argument.ts'
import { findPolicy, readPoliciesFile } from './policies-file.ts'
import { createServiceClient, readToken, type ServiceClient, TOKEN_OPTION } from './service-client.ts'
import { listTierNames } from './strict-limiter.ts'

/** The options by which `inspect` and `reset` find a key. */
export interface KeyOptions {
  readonly policies?: string
  readonly policy?: string
  readonly redis?: string
  readonly prefix?: string
  readonly url?: string
  readonly tokenFile?: string
  readonly json?: true
}

/** Adds the options that name a key. */
export function addKeyOptions(command: Command): Command {
  return command
    .argument('<key>', 'the key, such as user:42')
    .option('--policies <file>', 'the policies file, YAML or JSON; needs --redis')
    .option('--policy <name>', 'the name of a policy')
    .option(...REDIS_OPTION)
    .option('--prefix <text>', 'the prefix of redisStore (default: "sluice:")')
    .option('--url <url>', 'ask a running service instead of Redis, such as http://127.0.0.1:8080')
    .option(...TOKEN_OPTION)
    .option('--json', 'print JSON')
    .addHelpText('after', KEY_HELP)
}

/** The service to ask, or `undefined` when Redis is meant. */
export async function resolveService(options: KeyOptions, terminal: Terminal): Promise<ServiceClient | undefined> {
  const { url, redis, policies, policy, tokenFile } = options
  if (url === undefined) return undefined
  if (redis !== undefined || policies !== undefined)
    throw new UsageError('--url asks a service, which has its own policies and store. Remove --policies and --redis')
  if (policy === undefined) throw new UsageError('--policy is missing, such as --policy api')
  return createServiceClient(url, await readToken(tokenFile, terminal), terminal.signal)
}

/** The policies that are meant, with the key as each of them reads it. `otherwise` names the options that replace a file. */
export async function readKeyedPolicies(
  text: string,
  options: KeyOptions,
  otherwise: string,
): Promise<readonly [Policy, Key<string>][]> {
  const { policies: file, policy } = options
  if (file === undefined)
    throw new UsageError(`--policies is missing, such as --policies limits.yaml. Without a file, use ${otherwise}`)
  const all = await readPoliciesFile(file)
  const meant: Policies = policy === undefined ? all : [findPolicy(all, policy)]
  const known = [...new Set(meant.flatMap(listTierNames))]
  return meant.map((one) => [one, parseKey(text, listTierNames(one), known)])
}
