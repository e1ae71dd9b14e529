import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { build } from 'esbuild'
import workerd from 'workerd'
import { endWithUs } from '../servers/end-with-us.ts'

/** A Worker that answers on loopback, in the program that Cloudflare runs Workers with. */
export interface RunningWorker {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Bundles `source` as Cloudflare's own tool does, and starts it in `folder`. Throws with what workerd says when the Worker does not
 * start.
 */
export async function startWorker(folder: string, source: string): Promise<RunningWorker> {
  await build({
    entryPoints: [join(folder, source)],
    outfile: join(folder, BUNDLE),
    bundle: true,
    format: 'esm',
    target: 'es2024',
    mainFields: ['browser', 'module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*', 'cloudflare:*'],
  })
  await writeFile(join(folder, 'worker.capnp'), CONFIG)
  const child = spawn(workerd, ['serve', 'worker.capnp', '--control-fd=3'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  endWithUs(child, join(folder, BUNDLE))
  const ended = once(child, 'exit')
  let complaint = ''
  child.stderr?.on('data', (data) => {
    complaint += data
  })
  const port = await Promise.race([listening(child.stdio[3] as Readable), ended.then(() => undefined)])
  if (port === undefined) throw new Error(`workerd ended: ${complaint}`)
  const stop = async () => {
    child.kill()
    await ended
  }
  return { url: `http://127.0.0.1:${port}`, stop }
}

/** The port that workerd says it listens at. */
async function listening(control: Readable): Promise<number> {
  for await (const line of control) {
    const said = JSON.parse(`${line}`.split('\n')[0] as string)
    if (said.event === 'listen') return said.port
  }
  return new Promise(() => {})
}

const BUNDLE = 'worker-bundle.mjs'
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "${BUNDLE}")],
  compatibilityDate = "2025-05-05",
  compatibilityFlags = ["nodejs_compat"],
);
`
