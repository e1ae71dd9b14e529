import type { Policies } from '../../policies/read-policies.ts'
import type { ListeningAddress } from '../../service/server/http-server.ts'
import type { Service } from '../../service/service.ts'
import type { Token } from './token.ts'

/** What has been started, and how to reach it. */
export interface Started {
  readonly policies: Policies
  readonly service: Service
  readonly url: string
  /** Where the page is, with the token if it is a new one. */
  readonly page: string
  readonly token: Token
  /** Who needs it to look. */
  readonly reads: string
  /** Where the store is; absent: in this process. */
  readonly place: string | undefined
  /** The file of the policies. */
  readonly file: string | undefined
}

/** The URL of a service. */
export function formatUrl({ address, port }: ListeningAddress): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}

/** Where people look: with the token in the part of the address that browsers keep to themselves, unless they have it already. */
export function formatPageUrl(url: string, { text, isNew }: Token): string {
  return isNew ? `${url}/#token=${text}` : `${url}/`
}

/** Whether looking needs the token, and why, for people. */
export function describeReads({ isLocal }: ListeningAddress, allowedHosts: readonly string[]): string {
  if (!isLocal) return 'need the token: others can reach this address'
  if (allowedHosts.length > 0) return 'need the token: --allow-host says that a proxy is in front'
  return 'need no token on this machine; through a proxy they do'
}
