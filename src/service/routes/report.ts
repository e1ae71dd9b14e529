import type { Rule } from '../../core/rule.ts'
import type { LiveReport } from '../../observe/live-report.ts'
import { jsonAnswer, textAnswer } from '../answer.ts'
import type { Metrics } from '../metrics.ts'
import type { PolicyInForce } from '../policies-in-force.ts'
import type { Readiness } from '../readiness.ts'
import type { Desk, Routes } from '../route.ts'

/** What there is to tell about the service. */
export interface Reports {
  live(): LiveReport
  ready(): Promise<Readiness>
  readonly metrics: Metrics
}

/** Tells how the service is doing, and by which policies. */
export function reportRoutes({ policies }: Desk, { live, ready, metrics }: Reports): Routes {
  return {
    '/v1/policies': {
      method: 'GET',
      access: 'local',
      answer: () => jsonAnswer({ policies: policies.all().map(policyJson) }),
    },
    '/v1/live': { method: 'GET', access: 'local', answer: () => jsonAnswer(live()) },
    '/healthz': { method: 'GET', access: 'open', answer: () => jsonAnswer({ status: 'alive' }) },
    '/readyz': {
      method: 'GET',
      access: 'open',
      answer: async () => {
        const readiness = await ready()
        return jsonAnswer(readiness, readiness.status === 'ready' ? 200 : 503)
      },
    },
    '/metrics': {
      method: 'GET',
      access: 'local',
      answer: async () => textAnswer(await metrics.text(), metrics.contentType),
    },
  }
}

function policyJson({ name, limiter, isTiered }: PolicyInForce): object {
  const { rules, shadows } = limiter
  const tiers = Object.entries(rules).map(([tier, rule]) => tierJson(tier, rule, shadows.includes(tier)))
  return { name, isTiered, tiers }
}

function tierJson(name: string, { kind, limit, parameters }: Rule, isShadow: boolean): object {
  return { name, kind, limit, parameters, isShadow }
}
