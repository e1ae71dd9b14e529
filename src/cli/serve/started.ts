import type { ListeningAddress } from '../../service/http-server.ts'
import type { Service } from '../../service/service.ts'
import type { Token } from './token.ts'

/** What has been started, and how to reach it. */
export interface Started {
  readonly service: Service
  readonly url: string
  /** Where the page is, with the token if nobody else knows it. */
  readonly page: string
  readonly token: Token
  /** Where the store is; absent: in this process. */
  readonly place: string | undefined
  /** The file of the policies. */
  readonly file: string | undefined
}

/** The URL of a service. */
export function urlOf({ address, port }: ListeningAddress): string {
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}

/** Where people look: with the token in the part of the address that browsers keep to themselves, unless they have it already. */
export function pageUrl(url: string, { text, isNew }: Token): string {
  return isNew ? `${url}/#token=${text}` : `${url}/`
}
