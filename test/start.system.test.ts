import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** Starts what `npm start` starts, after the build, and waits until it says where it is. */
function start(...args: readonly string[]): Promise<{ child: ChildProcess; url: string; token: string }> {
  const { SLUICE_TOKEN: _, SLUICE_REDIS_URL: __, ...env } = process.env
  const policies = join('examples', 'start', 'policies.yaml')
  const program = [join('dist', 'cli', 'sluice.mjs'), 'serve', '--policies', policies, '--demo', ...args]
  const child = spawn(process.execPath, program, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  // Read to the end: a child whose output is not read dies of it.
  let said = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      said += chunk
      const [, url, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]+)\s/.exec(said) ?? []
      if (url !== undefined && token !== undefined) resolve({ child, url, token })
    })
    child.once('exit', () => reject(new Error(`it ended and said: ${said}`)))
  })
}

describe('npm start', () => {
  it('shows a page that has something to show, and decides by its policies', async () => {
    const { url, token } = await start('--port', '0')
    expect(await (await fetch(url)).text()).toContain('<title>Sluice</title>')
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const body = JSON.stringify({ requests: Array(120).fill({ policy: 'api', key: 'user:42' }) })
    const response = await fetch(`${url}/v1/consume`, { method: 'POST', headers, body })
    const { decisions } = (await response.json()) as { decisions: { allowed: boolean }[] }
    expect(decisions.map(({ allowed }) => allowed)).toEqual([...Array(100).fill(true), ...Array(20).fill(false)])
    const busy = async () => {
      const { policies } = (await (await fetch(`${url}/v1/live`)).json()) as { policies: { allowed: number }[] }
      return policies.filter(({ allowed }) => allowed > 0).length
    }
    await expect.poll(busy, { timeout: 20_000 }).toBe(5)
  })

  it('takes another port when its own is taken, and ends on SIGTERM', async () => {
    const [one, other] = [await start(), await start()]
    expect(one.url).not.toBe(other.url)
    for (const { child } of [one, other]) {
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([0, null])
    }
  })
})
