import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type ContextManager, context, ROOT_CONTEXT } from '@opentelemetry/api'
import { afterAll, beforeAll } from 'vitest'

/** Lets the active span of OpenTelemetry follow promises in this file, as it does in a program that is set up for it. */
export function followPromises(): void {
  const storage = new AsyncLocalStorage<Context>()
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, run, self, ...args) => storage.run(active, () => run.apply(self, args)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  beforeAll(() => void context.setGlobalContextManager(manager))
  afterAll(() => context.disable())
}
