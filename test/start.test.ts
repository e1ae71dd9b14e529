import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import type { Decision } from '../src/index.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** Starts what `npm start` starts, after the build, and waits until it says where it is. */
function start(port: string | undefined): Promise<{ child: ChildProcess; url: string }> {
  const { PORT: _, ...env } = process.env
  const child = spawn(process.execPath, [join(root, 'examples', 'start', 'start.mjs')], {
    env: port === undefined ? env : { ...env, PORT: port },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.push(child)
  // Read to the end: a child whose output nobody takes dies of it.
  let said = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      said += chunk
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)
      if (url !== null) resolve({ child, url: url[0] })
    })
    child.once('exit', () => reject(new Error(`it ended and said: ${said}`)))
  })
}

describe('npm start', () => {
  it('shows a page, lets ten requests pass and refuses the rest with a time to wait', async () => {
    const { url } = await start('0')
    expect(await (await fetch(url)).text()).toContain('<button id="one" type="button">')
    const answers = await Promise.all(Array.from({ length: 15 }, () => fetch(`${url}/request`, { method: 'POST' })))
    expect(answers.map((answer) => answer.status).sort()).toEqual([...Array(10).fill(200), ...Array(5).fill(429)])
    const refused = answers.find((answer) => answer.status === 429) as Response
    const decision = (await refused.json()) as Decision
    expect(decision).toMatchObject({ allowed: false, remaining: 0, limitedBy: 'demo', reason: 'limit' })
    expect(Number(refused.headers.get('retry-after'))).toBe(Math.ceil(decision.retryAfterMs / 1_000))
    expect(await (await fetch(`${url}/standing`)).json()).toMatchObject({ allowed: false, remaining: 0 })
    expect((await fetch(`${url}/request`)).status).toBe(404)
  })

  it('takes another port when its own is taken, and ends when it is told to', async () => {
    const [one, other] = [await start(undefined), await start(undefined)]
    expect(one.url).not.toBe(other.url)
    for (const { child } of [one, other]) {
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([0, null])
    }
  })
})
