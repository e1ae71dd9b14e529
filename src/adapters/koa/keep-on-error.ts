import type { Context } from 'koa'
import type { HeaderField } from '../../http/header-fields.ts'
import { setHeaderFields } from '../../http/set-header-fields.ts'

/**
 * Keeps header lines on the answer to a request that fails: Koa takes all headers off it before it writes its own. What the error
 * itself says under such a name stays.
 */
export function keepOnError(context: Context, lines: readonly HeaderField[]): void {
  if (lines.length === 0) return
  const { onerror, res } = context
  const get = (name: string) => res.getHeader(name)
  context.onerror = (error) => {
    if (!res.headersSent) {
      const there = lines.filter(({ name }) => res.hasHeader(name))
      const kept = there.map((line) => ({ ...line, value: String(get(line.name)) }))
      const { writeHead } = res
      // The last moment at which headers can be set.
      res.writeHead = ((...head: Parameters<typeof writeHead>) => {
        const missing = kept.filter(({ name, value, joins }) => (joins ? get(name) !== value : !res.hasHeader(name)))
        setHeaderFields(missing, get, (name, value) => res.setHeader(name, value))
        return writeHead.apply(res, head)
      }) as typeof writeHead
    }
    onerror.call(context, error)
  }
}
