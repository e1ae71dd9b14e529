import * as common from '@nestjs/common'
import * as core from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express from 'express'
import * as adapter from 'sluice/nestjs'
import type { Nest } from './nestjs-frame.ts'

/** NestJS 12 on Express. */
export const onExpress: Nest = {
  common,
  core,
  adapter,
  platform(hops) {
    const app = express()
    if (hops !== undefined) app.set('trust proxy', hops)
    return new ExpressAdapter(app)
  },
}

/** NestJS 12 on Fastify. */
export const onFastify: Nest = {
  common,
  core,
  adapter,
  platform: (hops) =>
    new FastifyAdapter({
      forceCloseConnections: true,
      ...(hops !== undefined && { trustProxy: (_: string, hop: number) => hop < hops }),
    }) as never,
}
