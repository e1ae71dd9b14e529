import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ask } from './ask.ts'
import { freeClusterPort, freePort } from './free-port.ts'
import { isRunning } from './is-running.ts'
import { startServer } from './start-server.ts'

it('starts an empty server on loopback that keeps nothing on disk', async () => {
  const server = await startServer()
  onTestFinished(server.stop)
  expect(await ask(server, 'DBSIZE')).toBe(0)
  expect(await ask(server, 'CONFIG', 'GET', 'bind')).toEqual(['bind', '127.0.0.1'])
  expect(await ask(server, 'CONFIG', 'GET', 'save')).toEqual(['save', ''])
  expect(await ask(server, 'CONFIG', 'GET', 'appendonly')).toEqual(['appendonly', 'no'])
})

it('hands more arguments on', async () => {
  const server = await startServer({ args: ['--maxmemory', '2mb'] })
  onTestFinished(server.stop)
  expect(await ask(server, 'CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '2097152'])
})

it('ends the server and removes its folder on stop, which may be called twice', async () => {
  const server = await startServer()
  expect([isRunning(server.pid), existsSync(server.folder)]).toEqual([true, true])
  await server.stop()
  await server.stop()
  expect([isRunning(server.pid), existsSync(server.folder)]).toEqual([false, false])
})

it('takes another port when another program, even another Redis, has taken the first', async () => {
  const first = await startServer()
  onTestFinished(first.stop)
  const free = await freePort()
  const ports = [first.port, free]
  const second = await startServer({ pickPort: async () => ports.shift() ?? 0 })
  onTestFinished(second.stop)
  expect(second.port).toBe(free)
})

it('takes another port when the port of the cluster bus is taken', async () => {
  const ports = [await freeClusterPort(), await freeClusterPort()]
  const [, free] = ports
  const other = createServer().listen((ports[0] ?? 0) + 10_000, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const server = await startServer({ args: ['--cluster-enabled', 'yes'], pickPort: async () => ports.shift() ?? 0 })
  onTestFinished(server.stop)
  expect(server.port).toBe(free)
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

it('starts with a configuration file in its own folder, and our arguments win over it', async () => {
  const server = await startServer({ config: 'maxmemory 2mb\nsave 60 1\n' })
  onTestFinished(server.stop)
  expect(await ask(server, 'CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '2097152'])
  expect(await ask(server, 'CONFIG', 'GET', 'save')).toEqual(['save', ''])
  expect(await ask(server, 'INFO', 'server')).toContain(`config_file:${join(server.folder, 'server.conf')}\r\n`)
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
