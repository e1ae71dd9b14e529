import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'
import { afterEach, beforeEach, expect, it } from 'vitest'

// Starts a child that outlasts every test, and says when it runs.
const PARENT = `
import { spawn } from 'node:child_process'
import { endWithUs } from './end-with-us.mjs'
const child = spawn(process.execPath, ['-e', 'console.log("up"); setTimeout(() => {}, 60_000)'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
endWithUs(child, import.meta.dirname)
child.stdout.once('data', () => process.send(child.pid))
`

let folder: string
let parent: ChildProcess
let childPid: number

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-guard-'))
  const source = await readFile(new URL('./end-with-us.ts', import.meta.url), 'utf8')
  await writeFile(join(folder, 'end-with-us.mjs'), ts.transpile(source, { target: ts.ScriptTarget.ES2022 }))
  await writeFile(join(folder, 'parent.mjs'), PARENT)
  parent = fork(join(folder, 'parent.mjs'), { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  childPid = (await once(parent, 'message'))[0]
})
afterEach(async () => {
  parent.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

it.each([
  ['is killed outright', () => parent.kill('SIGKILL'), [null, 'SIGKILL']],
  ['is ended the way that Vitest ends a worker', () => parent.kill(), [null, 'SIGTERM']],
  ['has lost the process that forked it', () => parent.disconnect(), [0, null]],
])('ends the child and removes its folder when the process %s', async (_, end, outcome) => {
  const exit = once(parent, 'exit')
  end()
  expect(await exit).toEqual(outcome)
  // The child holds the same stderr, which ends only when both have.
  if (parent.stderr?.readableEnded === false) await once(parent.stderr.resume(), 'end')
  expect(existsSync(folder)).toBe(false)
})

it('is called off when the child ends first: the process may end, and the folder stays', async () => {
  const exit = once(parent, 'exit')
  process.kill(childPid)
  expect(await exit).toEqual([0, null])
  expect(existsSync(folder)).toBe(true)
})
