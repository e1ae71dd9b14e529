import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { awayFromWindowEdge } from './examples/window-edge.ts'
import { type Application, installBeside } from './packaging/install-beside.ts'
import { type InstalledPackage, installPackage } from './packaging/installed-package.ts'
import { ROOT } from './packaging/pack.ts'
import { freePort } from './servers/free-port.ts'
import { type RunningServer, startServer } from './servers/start-server.ts'
import { waitUntil } from './servers/wait-until.ts'

// The page is typed into one shell, in a folder that has the packed package: files first, then each command, in the order of the page.
// `…` stands for any text. The packages that the page installs by npm are there before, so that no network is needed.

const page = readFileSync(new URL('../docs/first-hour.md', import.meta.url), 'utf8')
const files = [...page.matchAll(/\*\*([\w.-]+)\*\*\n\n```\w+(?: compile)?\n([\s\S]*?)```/g)]
const steps = [...page.matchAll(/```console\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((step) => step.split(/\n([\s\S]*)/, 2) as [command: string, reply: string]),
)

// A busy machine takes its time for a compiler and for npx.
const LONGEST_MS = 100_000

let installed: InstalledPackage
let application: Application
let server: RunningServer
let shell: ChildProcess
let heard = ''
let ports: readonly (readonly [string, number])[]

beforeAll(async () => {
  installed = await installPackage()
  const names = ['express', 'ioredis', '@types/node']
  application = await installBeside(
    installed.folder,
    Object.fromEntries(names.map((name) => [name, `node_modules/${name}`])),
  )
  const modules = join(application.folder, 'node_modules')
  await symlink(join(ROOT, 'node_modules/typescript'), join(modules, 'typescript'))
  await mkdir(join(modules, '.bin'), { recursive: true })
  await symlink(join(ROOT, 'node_modules/typescript/bin/tsc'), join(modules, '.bin/tsc'))
  // The page counts in windows of a day, too.
  await awayFromWindowEdge(86_400_000, 60_000)
  server = await startServer()
  ports = [
    ['3000', await freePort()],
    ['8080', await freePort()],
    ['6379', server.port],
  ]
  for (const [, name = '', text = ''] of files) {
    await mkdir(dirname(join(application.folder, name)), { recursive: true })
    await writeFile(join(application.folder, name), withPorts(text))
  }
  const { SLUICE_REDIS_URL: _, SLUICE_TOKEN: __, FORCE_COLOR: ___, ...ours } = process.env
  // npm reads no settings of this machine, and says nothing of its own.
  const env = { ...ours, NO_COLOR: '1', npm_config_userconfig: '/dev/null', npm_config_loglevel: 'silent' }
  // In a group of its own, which ends as a whole.
  shell = spawn('/bin/sh', { cwd: application.folder, env, detached: true })
  shell.stdin?.write('exec 2>&1\n')
  shell.stdout?.on('data', (chunk) => {
    heard += chunk
  })
})
afterAll(async () => {
  if (shell?.exitCode === null) {
    const ended = once(shell, 'exit')
    process.kill(-(shell.pid as number), 'SIGKILL')
    await ended
  }
  await server?.stop()
  await application?.remove()
  await installed?.remove()
})

it('the page has commands', () => {
  expect(files.length).toBeGreaterThan(8)
  expect(steps.length).toBeGreaterThan(20)
})

it.each(steps)('%s', async (command, reply) => {
  const wanted = patternOf(withPorts(reply))
  if (command.startsWith('npm install ')) return
  heard = ''
  shell.stdin?.write(`${withPorts(command)}\necho "[ended $?]"\n`)
  // What runs in the background goes on after the shell has taken its command.
  const isOver = () =>
    command.endsWith(' &') ? heard.includes('[ended 0]\n') && wanted.test(replied()) : /\[ended \d+\]\n$/.test(heard)
  await waitUntil(
    async () => (isOver() || shell.exitCode !== null ? undefined : `${command} says: ${heard}`),
    LONGEST_MS,
  )
  expect(replied()).toMatch(wanted)
})

function replied(): string {
  return heard
    .replace(/\[ended \d+\]\n/, '')
    .replaceAll('\r', '')
    .trimEnd()
}

function withPorts(text: string): string {
  return ports.reduce(
    (replaced, [written, port]) => replaced.replaceAll(new RegExp(`\\b${written}\\b`, 'g'), `${port}`),
    text,
  )
}

function patternOf(reply: string): RegExp {
  const parts = reply
    .trimEnd()
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[\\s\\S]*?')}$`)
}
