// A Worker whose Durable Object limits by what it keeps in its storage.
import { DurableObject } from 'cloudflare:workers'
import { createLimiter, fixedWindow, slidingWindow, tokenBucket } from 'sluice'
import { durableObjectStore } from 'sluice/durable-object'
import { runContract } from './run-contract.mjs'

export class Limits extends DurableObject {
  #store = durableObjectStore(this.ctx.storage)
  #api = createLimiter({ name: 'api', rule: slidingWindow({ limit: 100, window: '1d' }), store: this.#store })
  #soon = createLimiter({ name: 'soon', rule: fixedWindow({ limit: 1, window: 1 }), store: this.#store })
  #turns = createLimiter({
    name: 'turns',
    rule: tokenBucket({ capacity: 1, refill: 1, period: 20 }),
    store: this.#store,
  })

  consume(key) {
    return this.#api.consume(key)
  }

  wait(key) {
    return this.#turns.wait(key, { maxWait: '10s' })
  }

  /** Takes 5 by a rule of this limit. */
  plan(limit) {
    const perDay = (limit) => fixedWindow({ limit, window: '1d' })
    const resolveRule = () => perDay(Number(limit))
    return createLimiter({ name: 'plan', rule: perDay(1), resolveRule, store: this.#store }).consume('ann', { cost: 5 })
  }

  contract() {
    return runContract(() => durableObjectStore(this.ctx.storage))
  }

  /** Leaves something that has expired a moment later, and lets the alarm ring at once. */
  async expire(key) {
    await this.#soon.consume(key)
    const hadAlarm = (await this.ctx.storage.getAlarm()) !== null
    await this.ctx.storage.setAlarm(Date.now() + 10)
    return { hadAlarm, entries: this.count() }
  }

  count() {
    return this.ctx.storage.sql.exec('SELECT count(*) AS entries FROM sluice').one().entries
  }

  evict() {
    this.ctx.abort('evicted')
  }

  alarm() {
    this.#store.deleteExpired()
  }
}

// biome-ignore lint/style/noDefaultExport: a Worker is what its module exports so.
export default {
  async fetch(request, { LIMITS }) {
    const [, name, method, key] = new URL(request.url).pathname.split('/')
    try {
      return Response.json((await LIMITS.get(LIMITS.idFromName(name))[method](key)) ?? null)
    } catch (error) {
      return new Response(error.message, { status: 500 })
    }
  },
}
