import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'

/** Sends the same request to a port, each time on the same connection. `send` resolves when the answer has ended. */
export function openExchange(port, { body, ...options }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = () =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, agent, ...options }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`the server answered ${response.statusCode}`))
        response.resume().once('end', resolve)
      })
      sent.once('error', reject).end(body)
    })
  return { send, close: () => agent.destroy() }
}

/** A server without a limiter: the promises of an exchange with it belong to the client and to Node. */
export async function startBareServer() {
  const server = createServer((incoming, response) => incoming.resume().once('end', () => response.end('{}')))
  return { port: await portOf(server.listen(0, '127.0.0.1')), close: () => server.close() }
}

/** The port of a server, once it listens. */
export async function portOf(server) {
  if (!server.listening) await once(server, 'listening')
  return server.address().port
}
