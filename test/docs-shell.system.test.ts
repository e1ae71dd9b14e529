import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest'
import { findCli } from './scripts/find-cli.ts'
import { fakeProgram } from './servers/fake-program.ts'
import type { ServerBinary } from './servers/server-binary.ts'
import { startServer } from './servers/start-server.ts'

// The commands of the page about operations run, each block on its own server. `# →` shows the reply, … stands for any words.

const page = readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)

let cli: ServerBinary
let home: string
beforeAll(async () => {
  cli = await findCli(inject('redisServer'))
  home = await mkdtemp(join(tmpdir(), 'sluice-docs-shell-'))
})
afterAll(() => rm(home, { recursive: true, force: true }))

it.each(blocks)('block %#', async (block) => {
  const server = await startServer()
  onTestFinished(() => server.stop())
  const env = Object.entries(cli.env).map(([name, value]) => `${name}='${value}' `)
  await fakeProgram(join(home, 'bin', 'redis-cli'), `${env.join('')}exec '${cli.path}' -p ${server.port} "$@"`)
  const path = [join(home, 'bin'), process.env.PATH].join(delimiter)
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', block], { env: { ...process.env, PATH: path } })
  const replies = [...block.matchAll(/^# → (.+)$/gm)].map(([, reply = '']) => reply)
  const wanted = replies.map((reply) => reply.split('…').map(escaped).join('.*?')).join(' ')
  expect(stdout.replaceAll(/\s+/g, ' ').trim()).toMatch(new RegExp(`^${wanted}$`))
})

it('the user of the page about operations is allowed what the page about the store says', () => {
  const words = (text: string, pattern: RegExp) => (pattern.exec(text)?.[1] ?? '').replaceAll("'", '').split(' ')
  const ofStore = readFileSync(new URL('../docs/redis.md', import.meta.url), 'utf8')
  const allowed = words(ofStore, /^ACL SETUSER limiter on >secret (.*)$/m)
  expect(allowed.length).toBeGreaterThan(9)
  expect(words(page, /SETUSER limiter on '>secret' (.*)$/m)).toEqual(allowed)
})

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
