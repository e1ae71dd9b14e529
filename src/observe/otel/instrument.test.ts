import { metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { followPromises } from '../../../test/observe/async-contexts.ts'
import { type Telemetry, telemetry } from '../../../test/observe/telemetry.ts'
import { limiterWith, lose, remoteStage } from '../../../test/remote-stage.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { concurrency } from '../../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { instrument } from './instrument.ts'

const HOUR = 3_600_000
const two = fixedWindow({ limit: 2, window: HOUR })

followPromises()

let seen: Telemetry
beforeEach(() => {
  seen = telemetry()
})

/** The names of the spans with their attributes. */
function told(): unknown {
  return seen.spans().map(({ name, attributes }) => [name, attributes])
}

describe('spans', () => {
  it('say what was asked and decided, and not about whom', async () => {
    const limiter = instrument(createLimiter({ name: 'api', rule: two }), providers())
    await limiter.consume('user:42', { cost: 2 })
    await limiter.consume('user:42')
    await limiter.block('user:42', 50)
    const common = { 'sluice.limiter': 'api', 'sluice.decided_by': 'memory', 'sluice.limit': 2, 'sluice.remaining': 0 }
    expect(told()).toEqual([
      ['sluice.consume', { ...common, 'sluice.cost': 2, 'sluice.allowed': true }],
      [
        'sluice.consume',
        { ...common, 'sluice.cost': 1, 'sluice.allowed': false, 'sluice.reason': 'limit', 'sluice.limited_by': 'api' },
      ],
      ['sluice.block', { ...common, 'sluice.allowed': false, 'sluice.reason': 'blocked', 'sluice.limited_by': 'api' }],
    ])
    expect(seen.spans().map(({ status }) => status.code)).toEqual(Array(3).fill(SpanStatusCode.UNSET))
  })

  it('name the key when they are asked to', async () => {
    const plain = createLimiter({ name: 'api', tiers: { user: two, ip: { rule: two, shadow: true } } })
    const limiter = instrument(plain, { ...providers(), recordKeys: true })
    await limiter.consume({ user: '42', ip: { kind: 'ip', name: '::1' } }, { cost: { user: 2, ip: undefined } })
    await limiter.consume({ ip: { kind: 'ip', name: '::1' } }, { cost: 3 })
    await expect(limiter.consume(7 as never)).rejects.toThrow('key must be')
    expect(seen.spans().map(({ attributes }) => attributes)).toMatchObject([
      { 'sluice.key': 'user=42, ip=ip~::1', 'sluice.cost.user': 2 },
      { 'sluice.key': 'ip=ip~::1', 'sluice.cost': 3, 'sluice.would_refuse': ['ip'] },
      { 'sluice.key': '7' },
    ])
    expect(seen.spans()[0]?.attributes).not.toHaveProperty('sluice.cost.ip')
  })

  it('are of every call that asks, with what it is about', async () => {
    const limiter = instrument(
      createLimiter({ name: 'api', rule: fixedWindow({ limit: 100, window: HOUR }) }),
      providers(),
    )
    await limiter.peek('a')
    await limiter.charge('a', 3)
    await limiter.charge('a')
    await limiter.refund('a', 2)
    await limiter.refund('a')
    const hold = await limiter.reserve('a', { estimate: 9 })
    await hold.settle(4)
    await (await limiter.reserve('a', { estimate: 5 })).cancel()
    const { token } = await limiter.reserve('a', { estimate: 6 })
    await limiter.resumeReservation(token as string).settle(1)
    await limiter.wait('a', { cost: 2 })
    expect(await limiter.schedule('a', () => 'done', { cost: 8 })).toMatchObject({ ran: true, value: 'done' })
    await limiter.unblock('a')
    await limiter.reset('a')
    const spans = seen.spans().map(({ name, attributes }) => [name.slice(7), attributes['sluice.cost']])
    expect(spans).toEqual([
      ['peek', 1],
      ['charge', 3],
      ['charge', 1],
      ['refund', 2],
      ['refund', 1],
      ['reserve', 9],
      ['settle', 4],
      ['reserve', 5],
      ['cancel', undefined],
      ['reserve', 6],
      ['settle', 1],
      ['wait', 2],
      ['schedule', 8],
      ['unblock', undefined],
      ['reset', undefined],
    ])
    expect(seen.spans().every(({ attributes }) => attributes['sluice.allowed'] === true)).toBe(true)
  })

  it('follow a lease, which is still one', async () => {
    const jobs = instrument(createLimiter({ name: 'jobs', rule: concurrency({ limit: 1, lease: 1_000 }) }), {
      ...providers(),
      recordKeys: true,
    })
    {
      await using lease = await jobs.acquire('a')
      expect(lease.signal.aborted).toBe(false)
      await lease.renew()
      await lease.release()
    }
    await using again = await jobs.acquire('a')
    expect(again.allowed).toBe(true)
    expect(seen.spans().map(({ name, attributes }) => [name, attributes['sluice.key']])).toEqual([
      ['sluice.acquire', 'a'],
      ['sluice.renew', 'a'],
      ['sluice.release', 'a'],
      ['sluice.acquire', 'a'],
    ])
  })

  it('are children of the active span, and active themselves while the limiter asks', async () => {
    const store = memoryStore()
    const active: (string | undefined)[] = []
    const asked: typeof store = {
      ...store,
      decide(call, reply) {
        active.push(trace.getActiveSpan()?.spanContext().spanId)
        return store.decide(call, reply)
      },
    }
    const limiter = instrument(createLimiter({ name: 'api', rule: two, store: asked }), providers())
    await seen.tracerProvider.getTracer('test').startActiveSpan('request', async (span) => {
      await limiter.consume('a')
      span.end()
    })
    const [child, parent] = seen.spans()
    expect(child?.parentSpanContext?.spanId).toBe(parent?.spanContext().spanId)
    expect(active).toEqual([child?.spanContext().spanId])
  })

  it('record what went wrong, which still reaches the caller', async () => {
    const limiter = instrument(createLimiter({ name: 'api', rule: two }), providers())
    await expect(limiter.consume('a', { cost: 0 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(limiter.consume('a', null as never)).rejects.toThrow(
      'consume() takes options such as { cost: … }, got null',
    )
    await expect(limiter.schedule('a', () => Promise.reject('a text'))).rejects.toBe('a text')
    const spans = seen.spans()
    expect(spans[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'cost must be a whole number of at least 1, got 0' },
      events: [{ name: 'exception', attributes: { 'exception.type': 'INVALID_ARGUMENT' } }],
    })
    expect(spans.map(({ status }) => status.code)).toEqual(Array(3).fill(SpanStatusCode.ERROR))
    expect(spans[2]?.status.message).toBe('a text')
  })

  it('cost little where nothing records them', async () => {
    const limiter = instrument(createLimiter({ name: 'api', rule: two }))
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 1 })
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 0 })
  })
})

describe('metrics', () => {
  const api = { 'sluice.limiter': 'api' }

  it('count what was decided', async () => {
    const limiter = instrument(createLimiter({ name: 'api', rule: two }), providers())
    for (let time = 0; time < 3; time++) await limiter.consume('a')
    expect(await seen.values('sluice.decisions')).toEqual([
      [{ ...api, 'sluice.outcome': 'allowed', 'sluice.decided_by': 'memory' }, 2],
      [{ ...api, 'sluice.outcome': 'refused', 'sluice.reason': 'limit', 'sluice.decided_by': 'memory' }, 1],
    ])
    expect(await seen.values('sluice.tier.refusals')).toEqual([[{ ...api, 'sluice.tier': 'api' }, 1]])
    expect(await seen.values('sluice.near_limit')).toEqual([[{ ...api, 'sluice.tier': 'api' }, 1]])
    expect(await seen.values('sluice.cost')).toMatchObject([
      [{ 'sluice.outcome': 'allowed' }, 2],
      [{ 'sluice.outcome': 'refused' }, 1],
    ])
    expect(await seen.values('sluice.decision.duration')).toMatchObject([[api, { count: 3 }]])
  })

  it('have units', async () => {
    const limiter = instrument(createLimiter({ name: 'api', rule: two }), providers())
    await limiter.wait('a')
    const units = (await seen.metrics()).map(({ descriptor: { name, unit } }) => [name, unit])
    expect(Object.fromEntries(units)).toEqual({
      'sluice.decisions': '{request}',
      'sluice.tier.refusals': '{request}',
      'sluice.would_refuse': '{request}',
      'sluice.near_limit': '{request}',
      'sluice.cost': '{cost}',
      'sluice.store.failures': '{failure}',
      'sluice.resolve_rule.failures': '{failure}',
      'sluice.wait.duration': 's',
      'sluice.store.healthy': '1',
    })
  })

  it('end with the limiter', async () => {
    seen = telemetry('new')
    const limiter = createLimiter({ name: 'api', rule: two })
    const watched = instrument(limiter, providers())
    const other = instrument(createLimiter({ name: 'other', rule: two }), providers())
    expect(await seen.values('sluice.store.healthy')).toEqual([
      [api, 1],
      [{ 'sluice.limiter': 'other' }, 1],
    ])
    await watched.close()
    expect(await seen.values('sluice.store.healthy')).toEqual([[{ 'sluice.limiter': 'other' }, 1]])
    await expect(limiter.consume('a')).rejects.toMatchObject({ code: 'LIMITER_CLOSED' })
    await other[Symbol.asyncDispose]()
    expect(await seen.values('sluice.store.healthy')).toEqual([])
  })

  describe('of a store', () => {
    beforeEach(remoteStage)

    it('say that it is not asked', async () => {
      const limiter = instrument(limiterWith(), providers())
      await lose(limiter)
      expect(await seen.values('sluice.store.healthy')).toEqual([[api, 0]])
      expect(limiter.health.state).toBe('degraded')
    })
  })
})

describe('instrument()', () => {
  afterEach(() => {
    trace.disable()
    metrics.disable()
  })

  it('goes to the global providers unless others are given', async () => {
    trace.setGlobalTracerProvider(seen.tracerProvider)
    metrics.setGlobalMeterProvider(seen.meterProvider)
    await instrument(createLimiter({ name: 'api', rule: two })).consume('a')
    expect(seen.spans()).toHaveLength(1)
    expect(await seen.values('sluice.decisions')).toHaveLength(1)
  })

  it('gives the same limiter', async () => {
    const limiter = createLimiter({ name: 'api', rule: two })
    const watched = instrument(limiter, providers())
    expect(watched.name).toBe('api')
    expect(watched.rules).toBe(limiter.rules)
    expect(watched.consume).toBe(watched.consume)
    const heard: unknown[] = []
    watched.on('refused', ({ key }) => heard.push(key))
    await limiter.consume('a', { cost: 3 })
    expect(heard).toEqual(['a'])
  })

  it.each([
    [{ recordKeys: 'yes' }, 'recordKeys must be true or false, got "yes"'],
    [{ tracer: 1 }, 'instrument() has no option "tracer", did you mean "tracerProvider"?'],
  ])('refuses the options %j', (options, message) => {
    expect(() => instrument(createLimiter({ name: 'api', rule: two }), options as never)).toThrow(message)
  })

  it('refuses a value that is not a limiter', () => {
    expect(() => instrument({} as never)).toThrow('instrument() takes a limiter, got an object')
  })
})

function providers(): Pick<Telemetry, 'meterProvider' | 'tracerProvider'> {
  const { meterProvider, tracerProvider } = seen
  return { meterProvider, tracerProvider }
}
