import type { Rule } from '../../core/rule.ts'
import type { LiveReport } from '../../observe/live-report.ts'
import type { WatchedLimiter } from '../../observe/watched-limiter.ts'
import { createJsonResponse, createTextResponse } from '../server/response.ts'
import type { Routes } from '../server/route.ts'
import type { PolicyInForce, ServiceContext } from './service-context.ts'

/** Whether the service can decide as it should, for who sends it requests. */
export interface Readiness {
  readonly status: 'ready' | 'closing' | 'store-unavailable'
  /** What to know besides. */
  readonly message?: string
}

/** Metrics as text, for monitoring systems. */
export interface MetricsText {
  readonly contentType: string
  text(): Promise<string>
}

/** What there is to tell about the service. */
export interface Reports {
  live(): LiveReport
  ready(): Promise<Readiness>
  readonly metrics: MetricsText
}

/** Says how the service is doing, and by which policies. */
export function createReportRoutes({ policies }: ServiceContext, { live, ready, metrics }: Reports): Routes {
  return {
    '/v1/policies': {
      method: 'GET',
      access: 'local',
      handle: () => createJsonResponse({ policies: policies.all().map(composePolicyJson) }),
    },
    '/v1/live': { method: 'GET', access: 'local', handle: () => createJsonResponse(live()) },
    '/healthz': { method: 'GET', access: 'open', handle: () => createJsonResponse({ status: 'alive' }) },
    '/readyz': {
      method: 'GET',
      access: 'open',
      handle: async () => {
        const readiness = await ready()
        return createJsonResponse(readiness, readiness.status === 'ready' ? 200 : 503)
      },
    },
    '/metrics': {
      method: 'GET',
      access: 'local',
      handle: async () => createTextResponse(await metrics.text(), metrics.contentType),
    },
  }
}

function composePolicyJson({ name, limiter, isTiered }: PolicyInForce): object {
  const tiers = Object.entries(limiter.rules).map(([tier, rule]) => composeTierJson(tier, rule, limiter))
  return { name, isTiered, tiers }
}

function composeTierJson(name: string, { kind, limit, parameters }: Rule, limiter: WatchedLimiter): object {
  const isShadow = limiter.shadows.includes(name)
  return { name, kind, limit, parameters, isShadow, isPrefetched: limiter.prefetches.includes(name) }
}
