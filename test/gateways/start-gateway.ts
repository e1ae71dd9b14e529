import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { endWithUs } from '../servers/end-with-us.ts'
import { freePort } from '../servers/free-port.ts'
import { waitUntil } from '../servers/wait-until.ts'
import { type Places, writeExample } from './examples.ts'
import type { GatewayName, Gateways } from './find-gateways.ts'

const MOST_PORTS = 5

/** Starts a proxy as its example configures it, and resolves with its port when it takes connections. It ends with the test. */
export async function startGateway(
  name: GatewayName,
  gateways: Gateways,
  places: Omit<Places, 'port'>,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    try {
      await launch(name, gateways, { ...places, port })
      return port
    } catch (error) {
      if (attempt === MOST_PORTS || !/address already in use|cannot bind/i.test(`${error}`)) throw error
    }
  }
}

async function launch(name: GatewayName, gateways: Gateways, places: Places): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), `sluice-${name}-`))
  // Apache gives up its rights as root, and then has to be able to read its files.
  await chmod(folder, 0o755)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const args = await writeExample(name, folder, places, gateways)
  const env = { ...process.env, ...gateways.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  // A file: Apache opens it by its name.
  const file = join(folder, 'log')
  const log = await open(file, 'w')
  const child = spawn(gateways.programs[name], args, { env, stdio: ['ignore', log.fd, log.fd] })
  if (child.pid !== undefined) endWithUs(child, folder)
  onTestFinished(() => end(child))
  await log.close()
  await waitUntil(async () => (hasEnded(child) ? undefined : whyNoConnection(places.port)))
  if (!hasEnded(child)) return
  throw new Error(`${name} ended with ${child.exitCode} before it listened:\n${await readFile(file, 'utf8')}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

async function whyNoConnection(port: number): Promise<undefined> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
