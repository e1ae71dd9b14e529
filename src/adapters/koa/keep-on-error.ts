import type { Context } from 'koa'
import { type HeaderField, setHeaderFields } from '../../http/header-fields.ts'

/**
 * Keeps header fields on the response when the handler fails: Koa removes all headers before it sets those of the error. Where the
 * error has a field of the same name, that stays.
 */
export function keepOnError(context: Context, fields: readonly HeaderField[]): void {
  if (fields.length === 0) return
  const { onerror, res } = context
  const get = (name: string) => res.getHeader(name)
  context.onerror = (error) => {
    if (!res.headersSent) {
      const there = fields.filter(({ name }) => res.hasHeader(name))
      const kept = there.map((field) => ({ ...field, value: String(get(field.name)) }))
      const { writeHead } = res
      // Called at the last moment at which headers can be set.
      res.writeHead = ((...head: Parameters<typeof writeHead>) => {
        const missing = kept.filter(({ name, value, joins }) => (joins ? get(name) !== value : !res.hasHeader(name)))
        setHeaderFields(missing, get, (name, value) => res.setHeader(name, value))
        return writeHead.apply(res, head)
      }) as typeof writeHead
    }
    onerror.call(context, error)
  }
}
