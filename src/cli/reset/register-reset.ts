import type { Decision } from '../../core/decision.ts'
import type { Key } from '../../limiter/options.ts'
import type { Policy } from '../../policies/read-policies.ts'
import { redisStore } from '../../stores/redis/redis-store.ts'
import type { RegisterCommand } from '../command/command.ts'
import { addKeyOptions, type KeyOptions, readKeyedPolicies, resolveService } from '../command/key-options.ts'
import { createStrictLimiter } from '../command/strict-limiter.ts'
import { fetchPolicy, parseServedKey } from '../inspect/inspect-service.ts'
import { withRedis } from '../redis/redis-option.ts'
import type { ConnectedRedis } from '../redis/redis-url.ts'
import { CommandFailure, UsageError } from '../terminal/command-failure.ts'
import { printable, printableJson } from '../terminal/printable.ts'

/** `sluice reset`: forgets a key. */
export const registerReset: RegisterCommand = (program, terminal) => {
  const command = program
    .command('reset')
    .description('delete the counts, debt, reservations and block of a key; asks first at a terminal')
  addKeyOptions(command)
    .option('-y, --yes', 'do not ask first')
    .addHelpText('after', EXAMPLES)
    .action(async (text: string, options: KeyOptions & { yes?: true }) => {
      const { policy } = options
      if (policy === undefined) throw new UsageError('--policy is missing, such as --policy api')
      const service = await resolveService(options, terminal)
      if (service !== undefined) {
        const key = parseServedKey(await fetchPolicy(service, policy), text)
        await assertYes(text, policy, service.place, options.yes)
        await service.post('/v1/reset', { policy, key })
      } else {
        const [meant] = await readKeyedPolicies(text, options, '--url of a service')
        await withRedis(options.redis, terminal, async (redis) => {
          await assertYes(text, policy, redis.place, options.yes)
          await resetOn(redis, options.prefix, ...(meant as [Policy, Key<string>]))
        })
      }
      if (options.json) terminal.out(printableJson({ policy, key: text, reset: true }))
      else terminal.out(`${printable(`${text} is reset for the policy ${policy}`)}\n`)
    })

  async function assertYes(text: string, policy: string, place: string, yes: true | undefined): Promise<void> {
    if (yes || terminal.keyboard === undefined) return
    const question = `Reset ${text} for the policy ${policy} at ${place}? [y/N] `
    const answer = await terminal.keyboard.ask(printable(question))
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure('nothing was reset')
  }
}

async function resetOn(
  { client }: ConnectedRedis,
  prefix: string | undefined,
  policy: Policy,
  key: Key<string>,
): Promise<Decision> {
  const limiter = createStrictLimiter(policy, redisStore(client, prefix === undefined ? {} : { prefix }))
  try {
    return await limiter.reset(key)
  } finally {
    await limiter.close()
  }
}

const EXAMPLES = `
Examples:
  sluice reset user:42 --policies limits.yaml --policy api --redis redis://127.0.0.1:6379 --yes
  sluice reset user:42 --policy api --url http://127.0.0.1:8080 --token-file token.txt
`
