import { existsSync } from 'node:fs'
import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'
import { startServer } from './start-server.ts'

it('starts an empty server on loopback that keeps nothing on disk', async () => {
  const server = await startServer()
  onTestFinished(server.stop)
  expect(await ask(server.port, ['DBSIZE'])).toBe(0)
  expect(await ask(server.port, ['CONFIG', 'GET', 'bind'])).toEqual(['bind', '127.0.0.1'])
  expect(await ask(server.port, ['CONFIG', 'GET', 'save'])).toEqual(['save', ''])
  expect(await ask(server.port, ['CONFIG', 'GET', 'appendonly'])).toEqual(['appendonly', 'no'])
})

it('hands more arguments on', async () => {
  const server = await startServer({ args: ['--maxmemory', '2mb'] })
  onTestFinished(server.stop)
  expect(await ask(server.port, ['CONFIG', 'GET', 'maxmemory'])).toEqual(['maxmemory', '2097152'])
})

it('ends the server and removes its folder on stop, which may be called twice', async () => {
  const server = await startServer()
  const [, folder] = (await ask(server.port, ['CONFIG', 'GET', 'dir'])) as [string, string]
  expect([isRunning(server.pid), existsSync(folder)]).toEqual([true, true])
  await server.stop()
  await server.stop()
  expect([isRunning(server.pid), existsSync(folder)]).toEqual([false, false])
})

it('takes another port when somebody, even another Redis, has taken the first', async () => {
  const first = await startServer()
  onTestFinished(first.stop)
  const free = await freePort()
  const ports = [first.port, free]
  const second = await startServer({ pickPort: async () => ports.shift() ?? 0 })
  onTestFinished(second.stop)
  expect(second.port).toBe(free)
})

it('gives up after five taken ports', async () => {
  const first = await startServer()
  onTestFinished(first.stop)
  let asked = 0
  const pickPort = async () => {
    asked += 1
    return first.port
  }
  await expect(startServer({ pickPort })).rejects.toThrow('Address already in use')
  expect(asked).toBe(5)
})

it('throws with the log of a server that ends before it answers', async () => {
  await expect(startServer({ args: ['--no-such-option', '1'] })).rejects.toThrow(
    / ended before it answered on port \d+, its log:\n.*no-such-option/s,
  )
})

it('throws when the program cannot be run at all', async () => {
  await expect(startServer({ server: { path: '/no/such/server', env: {} } })).rejects.toThrow(
    'spawn /no/such/server ENOENT',
  )
})

async function ask(port: number, [command, ...args]: [string, ...string[]]): Promise<unknown> {
  const redis = new Redis({ host: '127.0.0.1', port })
  try {
    return await redis.call(command, ...args)
  } finally {
    redis.disconnect()
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
