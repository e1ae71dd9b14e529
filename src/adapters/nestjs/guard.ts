import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import { formatHandlerName } from './context.ts'
import { noteDecision, readDecorated } from './decorators.ts'
import { createSocketException, RateLimitException } from './exception.ts'
import { RateLimits } from './rate-limits.ts'
import { sendAsProblem, startResponse } from './response.ts'

/**
 * Asks the limiters of a handler before it runs. For the whole application: `{ provide: APP_GUARD, useClass: RateLimitGuard }`; for a
 * controller, a gateway or a handler: `@UseGuards(RateLimitGuard)`. Refuses with a `RateLimitException`, WebSocket messages with a
 * `WsException`.
 */
export class RateLimitGuard implements CanActivate {
  readonly #limits: RateLimits

  constructor(limits: RateLimits) {
    this.#limits = limits
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const limits = this.#limits.resolveLimits(readDecorated(context), () => formatHandlerName(context))
    for (const { middleware, onRefused } of limits) {
      const result = await middleware(context)
      const { decision, refusal } = result
      if (decision !== undefined) noteDecision(context, decision)
      await startResponse(context, result)
      if (refusal === undefined) continue
      const body = decision && (await onRefused?.(context, decision))
      if (context.getType() === 'ws') throw await createSocketException(refusal, decision, body)
      if (context.getType() === 'http') sendAsProblem(context, refusal)
      throw new RateLimitException(refusal, decision, body)
    }
    return true
  }
}

Injectable()(RateLimitGuard)
Inject(RateLimits)(RateLimitGuard, undefined, 0)
