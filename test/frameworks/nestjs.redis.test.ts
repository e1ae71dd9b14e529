import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express from 'express'
import { createLimiter, fixedWindow } from 'sluice'
import { expect, it, onTestFinished } from 'vitest'
import { onExpress, onFastify } from './nestjs-12.ts'
import { type Nest, nestFrame } from './nestjs-frame.ts'
import { nestSuite } from './nestjs-suite.ts'

nestSuite('NestJS 12 on Express', onExpress)
nestSuite('NestJS 12 on Fastify', onFastify)

function trustful(setting: unknown): Nest {
  const app = express().set('trust proxy', setting)
  return { ...onExpress, platform: () => new ExpressAdapter(app) }
}
function trustfulOnFastify(setting: unknown): Nest {
  const options = { forceCloseConnections: true, trustProxy: setting as boolean }
  return { ...onFastify, platform: () => new FastifyAdapter(options) as never }
}

it.each([
  ['Express trusts every proxy', trustful(true), ['ALL_PROXIES_TRUSTED']],
  ['Express trusts its network', trustful('loopback'), []],
  ['Fastify trusts every proxy', trustfulOnFastify(true), ['ALL_PROXIES_TRUSTED']],
  ['Fastify trusts its network', trustfulOnFastify(['127.0.0.1']), []],
  ['Fastify trusts no proxy by a number', trustfulOnFastify(1), ['PROXY_NOT_TRUSTED']],
])('knows whom the platform believes: %s', async (_, nest, expected) => {
  const warnings: string[] = []
  const limiter = createLimiter({ name: 'api', rule: fixedWindow({ limit: 9, window: 60_000 }) })
  const app = { limiter, onWarning: (_message: string, code: string) => warnings.push(code) }
  const { url, close } = await nestFrame('trust', nest).start({ app })
  onTestFinished(close)
  for (const _ of [1, 2]) await fetch(url, { headers: { 'x-forwarded-for': '203.0.113.7' } })
  expect(warnings).toEqual(expected)
})
