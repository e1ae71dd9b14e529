import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { fixedWindow } from '../../src/rules/index.ts'
import { openConnection } from '../../src/stores/redis/clients/connect.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { decideCall, openLimit, operationOn } from '../open-limit.ts'
import { useServer } from '../servers/shared-servers.ts'

const rule = fixedWindow({ limit: 10, window: '1d' })

it('a decision that timed out while another one asked for the engine is not sent', async () => {
  const redis = new Redis(await useServer())
  const connection = openConnection(redis)
  const keys: string[] = []
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const store = redisStore({
    ...connection,
    async send(key, command) {
      if (command[1]?.includes('__readonly')) await released
      else keys.push(key)
      return connection.send(key, command)
    },
  })
  const patient = openLimit(store, { limiter: 'engine patient', rule })
  const hasty = openLimit(store, { limiter: 'engine hasty', rule })
  const first = patient.decide('a', { type: 'consume', amount: 1 }, 0)
  const second = decideCall(store, [operationOn(hasty.limit, 'b', { type: 'consume', amount: 1 })], 0, undefined, 10)
  const outcome = expect(second).rejects.toThrow('no answer within 10 ms')
  await new Promise((resolve) => setTimeout(resolve, 30))
  release()
  expect(await first).toMatchObject({ allowed: true })
  await outcome
  expect(keys.filter((key) => key.includes('hasty'))).toEqual([])
  expect(keys.filter((key) => key.includes('patient'))).not.toEqual([])
  redis.disconnect()
})
