import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { writePolicies } from '../cli/policy-file.ts'
import { readPort, startProgram } from './program.ts'
import { TOKEN } from './service-stage.ts'

const CONNECTIONS = 64
const BODY = '{"policy":"api","key":"a"}'
const REQUEST = [
  'POST /v1/consume HTTP/1.1',
  'Host: localhost',
  `Authorization: Bearer ${TOKEN}`,
  'Content-Type: application/json',
  `Content-Length: ${BODY.length}`,
  `\r\n${BODY}`,
].join('\r\n')

/** How a connection ended for a client that sends a request only when it has the answer to the one before, and none after the last. */
interface Ended {
  readonly answers: number
  /** Whether the service said that its last answer was the last. */
  readonly wasTold: boolean
  /** What a request met that got no answer. */
  readonly lost: string | undefined
}

/** Asks again and again on one connection, until the service closes it. `onAnswer` is called with every answer. */
async function askUntilTold(port: number, onAnswer: () => void): Promise<Ended> {
  const socket = connect({ port, host: '127.0.0.1' })
  let answers = 0
  let wasTold = false
  let lost: string | undefined
  let text = ''
  socket.on('error', ({ message }) => {
    lost = message
  })
  socket.on('data', (chunk) => {
    text += chunk
    if (!text.endsWith('}\n')) return
    answers++
    wasTold = /^connection: close\r$/im.test(text)
    text = ''
    onAnswer()
    if (!wasTold) socket.write(REQUEST)
  })
  await once(socket, 'connect')
  socket.write(REQUEST)
  await once(socket, 'close').catch(() => {})
  return { answers, wasTold, lost: wasTold ? undefined : (lost ?? 'closed without an answer') }
}

// The service waits a second for the next request of a connection. On a busy machine the test itself may take longer to send it.
const AGAIN = { retry: 3 }

it(
  'SIGTERM loses no request on a kept-alive connection: each is answered, and told that it was the last',
  AGAIN,
  async () => {
    const file = await writePolicies('policies: { api: { rule: fixed-window, limit: 1000000, window: 1d } }\n')
    const { child, said } = startProgram('--policies', file)
    const port = await readPort(said)
    let answers = 0
    const onAnswer = (): void => {
      // In the middle of the load.
      if (++answers === 20 * CONNECTIONS) child.kill('SIGTERM')
    }
    const exit = once(child, 'exit')
    const ended = await Promise.all(Array.from({ length: CONNECTIONS }, () => askUntilTold(port, onAnswer)))
    expect(ended.flatMap(({ lost }) => lost ?? [])).toEqual([])
    expect(ended.filter(({ wasTold }) => wasTold)).toHaveLength(CONNECTIONS)
    expect(answers).toBeGreaterThanOrEqual(21 * CONNECTIONS)
    expect(await exit).toEqual([0, null])
  },
)
