import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const TOKEN = 'a-token-for-the-benchmark'

/** Who is asked, in the order of the table: each starts a process of its own, and answers with its port and how to end it. */
export function subjects(redisPort) {
  return [
    { name: 'bare node:http, a constant answer', start: startBare },
    { name: 'sluice serve, memory', start: () => startServe([]) },
    { name: 'sluice serve, Redis', start: () => startServe(['--redis', `redis://127.0.0.1:${redisPort}`]) },
  ]
}

async function startBare() {
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = fork(pathOf('./bare-worker.mjs'), [], { env, execArgv: ['--import', pathOf('./report-cpu.mjs')] })
  const [{ port }] = await once(child, 'message')
  return { port, cpuUs: () => cpuUsOf(child), stop: () => ended(child, () => child.disconnect()) }
}

/** Starts `sluice serve` with more arguments. `lines` are what it has logged up to its start. */
export async function startServe(args) {
  const program = [
    '--import',
    pathOf('./report-cpu.mjs'),
    pathOf('../../dist/cli/sluice.mjs'),
    'serve',
    '--json',
    '--port',
    '0',
  ]
  const options = [...program, '--policies', pathOf('./policies.yaml'), ...args]
  const env = { ...process.env, NODE_ENV: 'production', SLUICE_TOKEN: TOKEN }
  const child = spawn(process.execPath, options, { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const lines = []
  for await (const line of createInterface(child.stdout)) {
    lines.push(JSON.parse(line))
    if (lines.at(-1).event === 'started') break
  }
  child.stdout.resume()
  const port = Number(new URL(lines.at(-1).url).port)
  return { port, lines, cpuUs: () => cpuUsOf(child), stop: () => ended(child, () => child.kill('SIGTERM')) }
}

async function cpuUsOf(child) {
  const told = once(child, 'message')
  child.send('cpu')
  const [{ cpuUs }] = await told
  return cpuUs
}

async function ended(child, end) {
  const exit = once(child, 'exit')
  end()
  await exit
}

function pathOf(file) {
  return fileURLToPath(new URL(file, import.meta.url))
}
