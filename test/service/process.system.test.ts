import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { writePolicies } from '../cli/policy-file.ts'
import { readPort, says, startProgram } from './program.ts'
import { rawConnection } from './raw-connection.ts'
import { TOKEN } from './service-stage.ts'

const readLimit = (limit: number) => `policies: { api: { rule: fixed-window, limit: ${limit}, window: 1d } }\n`

it('ends with 2 when its policies have mistakes, and tells each with its line', async () => {
  const file = await writePolicies(`${readLimit(0)}  other: 1\n`)
  const { child, said } = startProgram('--policies', file)
  expect((await once(child, 'exit'))[0]).toBe(2)
  expect(said()).toMatch(new RegExp(`${file}:\\d+:\\d+: `))
})

it('reads its policies again on SIGHUP, and exits with 0 on SIGTERM, also with slow clients', async () => {
  const file = await writePolicies(readLimit(10))
  const { child, said } = startProgram('--policies', file, '--no-watch')
  const port = await readPort(said)
  await writeFile(file, readLimit(20))
  child.kill('SIGHUP')
  await says(said, '"reloaded"')
  const slow = await rawConnection({ port })
  slow.socket.write('POST /v1/consume HTTP/1.1\r\nHost: localhost\r\n')
  expect(await (await fetch(`http://127.0.0.1:${port}/v1/policies`)).text()).toContain('"limit":20')
  const startedMs = performance.now()
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  expect(said().match(/"event":"[\w-]+"/g)).toEqual([
    '"event":"started"',
    '"event":"reloaded"',
    '"event":"closing"',
    '"event":"closed"',
  ])
  expect(said()).not.toContain(TOKEN)
})
