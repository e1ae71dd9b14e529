import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { freePort } from '../servers/free-port.ts'
import { waitUntil } from '../servers/wait-until.ts'

const PROGRAM = new URL('./server.js', import.meta.resolve('@humanwhocodes/upstash-redis-server'))

/** A program that speaks HTTP as Upstash does, in front of a real Redis server. */
export interface UpstashEmulator {
  readonly url: string
  readonly token: string
  stop(): Promise<void>
}

/** Starts the emulator and resolves when it takes connections. */
export async function startUpstashEmulator(redis: {
  readonly host: string
  readonly port: number
}): Promise<UpstashEmulator> {
  const port = await freePort()
  const token = 'a-token-of-the-emulator'
  const env = { ...process.env, PORT: `${port}`, URS_TOKEN: token, REDIS_URL: `redis://${redis.host}:${redis.port}` }
  const child = spawn(process.execPath, [fileURLToPath(PROGRAM)], { env, stdio: 'ignore' })
  await waitUntil(async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect').finally(() => socket.destroy())
    return undefined
  })
  return {
    url: `http://127.0.0.1:${port}`,
    token,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
