import { request } from 'node:http'

/** What a server answered. */
export interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Asks a port of loopback, on a connection of its own, with headers that fetch would not send as they are. */
export function ask(
  { port }: { readonly port: number },
  path: string,
  options: { method?: string; headers?: Record<string, string | string[]>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = options
    request({ port, host: '127.0.0.1', path, method, headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode, body: text, headers: response.headers }))
    })
      .on('error', reject)
      .end(body)
  })
}
