import type { ProxyTrust } from '../middleware/request-accessor.ts'

/** Resolves which proxies Express trusts about `X-Forwarded-For`, by its setting `trust proxy`. */
export function resolveExpressTrust({ app }: { readonly app?: { get(setting: string): unknown } }): ProxyTrust {
  const setting = app?.get('trust proxy')
  if (setting === true) return 'all'
  return setting === false || setting === undefined ? 'none' : 'some'
}
