import { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import express from 'express'
import { expect, it } from 'vitest'
import type { Decision } from '../../core/decision.ts'
import { keepDecision } from './kept-decision.ts'

const decisionOf = (remaining: number): Decision => ({ remaining }) as Decision

/** A request as Express hands it on: with the prototype of an application. */
function requestOf(app: express.Express): Request {
  const request = Object.setPrototypeOf(new IncomingMessage(undefined as never), app.request)
  return request as Request
}

it('the last decision of each request is its rateLimit, also in an application inside another one', () => {
  const [app, inner] = [express(), express()]
  app.use(inner)
  const [one, other] = [requestOf(app), requestOf(app)]
  keepDecision(one, decisionOf(1))
  expect([one.rateLimit, other.rateLimit]).toEqual([decisionOf(1), undefined])
  Object.setPrototypeOf(one, inner.request)
  expect(one.rateLimit).toEqual(decisionOf(1))
  keepDecision(one, decisionOf(2))
  Object.setPrototypeOf(one, app.request)
  expect(one.rateLimit).toEqual(decisionOf(2))
})

it('an application may set it too', () => {
  const request = requestOf(express())
  keepDecision(request, decisionOf(1))
  request.rateLimit = decisionOf(2)
  expect(request.rateLimit).toEqual(decisionOf(2))
  keepDecision(request, decisionOf(3))
  expect(request.rateLimit).toEqual(decisionOf(3))
})

it('a request of anything else has a property of its own', () => {
  for (const request of [{}, Object.create(null), new IncomingMessage(undefined as never)]) {
    keepDecision(request as Request, decisionOf(1))
    expect(Object.keys(request)).toContain('rateLimit')
    expect((request as Request).rateLimit).toEqual(decisionOf(1))
  }
  expect('rateLimit' in IncomingMessage.prototype).toBe(false)
})

it('a request without headers has a property of its own, although Express has made its prototype', () => {
  const app = express()
  keepDecision(requestOf(app), decisionOf(1))
  const request = Object.create(app.request) as Request
  keepDecision(request, decisionOf(2))
  expect(request.rateLimit).toEqual(decisionOf(2))
  keepDecision(request, decisionOf(3))
  expect(request.rateLimit).toEqual(decisionOf(3))
})
