import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import { announceProblem, tellAnswer } from './answer.ts'
import { handlerName } from './context.ts'
import { decoratedOf, noteDecision } from './decorators.ts'
import { RateLimitException, socketException } from './exception.ts'
import { RateLimits } from './rate-limits.ts'

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
    for (const gate of this.#limits.gatesOf(decoratedOf(context), () => handlerName(context))) {
      const passage = await gate(context)
      const { decision, refusal } = passage
      if (decision !== undefined) noteDecision(context, decision)
      await tellAnswer(context, passage)
      if (refusal === undefined) continue
      if (context.getType() === 'ws') throw await socketException(refusal, decision)
      if (context.getType() === 'http') announceProblem(context, refusal.problem)
      throw new RateLimitException(refusal, decision)
    }
    return true
  }
}

Injectable()(RateLimitGuard)
Inject(RateLimits)(RateLimitGuard, undefined, 0)
