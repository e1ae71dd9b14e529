import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest'
import { findCli } from './scripts/find-cli.ts'
import { fakeProgram } from './servers/fake-program.ts'
import type { ServerBinary } from './servers/server-binary.ts'
import { startServer } from './servers/start-server.ts'

// What the pages about operations tell to type is typed, each block on a server of its own. `# →` shows the reply, … stands for any words.

const folder = new URL('../docs/operations/', import.meta.url)
const blocks = readdirSync(folder).flatMap((name) => {
  const text = readFileSync(new URL(name, folder), 'utf8')
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ''], index) => ({ name, index, block }))
})

let cli: ServerBinary
let home: string
beforeAll(async () => {
  cli = await findCli(inject('redisServer'))
  home = await mkdtemp(join(tmpdir(), 'sluice-docs-shell-'))
})
afterAll(() => rm(home, { recursive: true, force: true }))

it.each(blocks)('$name, block $index', async ({ block }) => {
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

it('the user that the page about access makes is allowed what the page about the store says', () => {
  const words = (text: string, pattern: RegExp) => (pattern.exec(text)?.[1] ?? '').replaceAll("'", '').split(' ')
  const page = readFileSync(new URL('../redis.md', folder), 'utf8')
  const allowed = words(page, /^ACL SETUSER limiter on >secret (.*)$/m)
  expect(allowed.length).toBeGreaterThan(9)
  expect(words(readFileSync(new URL('acl.md', folder), 'utf8'), /SETUSER limiter on '>secret' (.*)$/m)).toEqual(allowed)
})

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
