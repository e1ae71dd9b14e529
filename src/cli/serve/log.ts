import { describeError } from '../../core/describe-error.ts'
import type { StoreChange } from '../../service/store-news.ts'
import { chooseColors } from '../terminal/colors.ts'
import { printable, printableJson, printableLines } from '../terminal/printable.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { composeGreeting } from './greeting.ts'
import type { Started } from './started.ts'

/** Says what happens to the service, a line each: never what happens to a request, and never the token but when it starts. */
export interface ServeLog {
  started(what: Started): void
  /** Envoy's rate limit service has started too. */
  rlsStarted(address: string, limiters: readonly { readonly name: string }[]): void
  reloaded(file: string, limiters: readonly { readonly name: string }[]): void
  reloadFailed(file: string, reason: string): void
  storeChanged(change: StoreChange): void
  failed(error: unknown): void
  closing(): void
  closed(): void
}

/** A log in sentences for people or, for programs, in lines of JSON. */
export function createServeLog(terminal: Terminal, isJson: boolean): ServeLog {
  const now = (): string => new Date().toISOString()
  const line = (what: object): void => terminal.out(printableJson({ at: now(), ...what }))
  const tell = (what: object, text: string): void => {
    if (isJson) line(what)
    else terminal.err(`${now()} ${printableLines(text)}\n`)
  }
  return {
    started(what) {
      if (isJson) line(composeStartLine(what))
      else terminal.out(composeGreeting(what, chooseColors(terminal)))
    },
    rlsStarted(address, limiters) {
      const domains = limiters.map(({ name }) => name)
      const text = `Envoy's rate limit service at ${address}: ${domains.map(printable).join(', ')}`
      tell({ event: 'rls-started', address, domains }, text)
    },
    reloaded(file, limiters) {
      const policies = limiters.map(({ name }) => name)
      tell(
        { event: 'reloaded', file, policies },
        `the policies of ${file} are in force: ${policies.map(printable).join(', ')}`,
      )
    },
    reloadFailed(file, reason) {
      const text = `${file} has mistakes, the policies before stay in force:\n${reason}`
      tell({ event: 'reload-failed', file, error: reason }, text)
    },
    storeChanged(change) {
      if (change.state === 'healthy') {
        const { afterMs } = change
        tell({ event: 'recovered', afterMs }, `the store answers again, after ${afterMs} ms`)
        return
      }
      const error = describeError(change.error)
      tell({ event: 'degraded', error }, `the store failed, onStoreFailure decides until it answers: ${error}`)
    },
    failed(error) {
      const text = describeError(error)
      tell({ event: 'failed', error: text }, `a request failed: ${text}`)
    },
    closing: () => tell({ event: 'closing' }, 'stopping: open requests are answered'),
    closed: () => tell({ event: 'closed' }, 'stopped'),
  }
}

function composeStartLine({ url, page, service, place, file }: Started): object {
  const policies = service.limiters().map(({ name }) => name)
  return { event: 'started', url, page, policies, file: file ?? null, store: place ?? 'memory' }
}
