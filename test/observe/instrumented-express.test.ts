import { createServer } from 'node:http'
import express from 'express'
import { expect, it } from 'vitest'
import { rateLimit } from '../../src/adapters/express/express.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { instrument } from '../../src/observe/otel/instrument.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { listening } from '../frameworks/listening.ts'
import { followPromises } from './async-contexts.ts'
import { telemetry } from './telemetry.ts'

followPromises()

it('an instrumented limiter goes where any limiter goes, and its spans belong to the request', async () => {
  const seen = telemetry()
  const { meterProvider, tracerProvider } = seen
  const user = fixedWindow({ limit: 1, window: 3_600_000 })
  const limiter = instrument(createLimiter({ name: 'api', tiers: { user } }), { meterProvider, tracerProvider })
  const app = express()
  app.use((_request, _response, next) => {
    tracerProvider.getTracer('test').startActiveSpan('GET', (span) => {
      _response.on('finish', () => span.end())
      next()
    })
  })
  app.use(rateLimit({ limiter, key: () => ({ user: '42' }) }))
  app.get('/', (_request, response) => void response.send('hello'))
  const { url, close } = await listening(createServer(app))
  const statuses = [(await fetch(url)).status, (await fetch(url)).status]
  await close()
  expect(statuses).toEqual([200, 429])
  const decided = seen.spans().filter(({ name }) => name === 'sluice.consume')
  const requests = seen.spans().filter(({ name }) => name === 'GET')
  expect(decided.map(({ attributes }) => attributes['sluice.limited_by'])).toEqual([undefined, 'user'])
  expect(decided.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(
    requests.map((span) => span.spanContext().spanId),
  )
  expect(await seen.values('sluice.tier.refusals')).toEqual([[{ 'sluice.limiter': 'api', 'sluice.tier': 'user' }, 1]])
})
