import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ask } from '../servers/ask.ts'
import { freePort } from '../servers/free-port.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { LIMIT, openOneLimit } from './one-limit.ts'

let server: RunningServer
let folder: string
let tlsPort: number
let ca: Buffer

// A server that takes plain connections too, so that it can be started and asked; the clients here use the other port.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', cert],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
  ])
  ca = await readFile(cert)
  tlsPort = await freePort()
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert, '--tls-auth-clients', 'no']
  server = await startServer({ args: ['--tls-port', `${tlsPort}`, ...files] })
  await ask(server, 'CONFIG', 'SET', 'requirepass', 'secret')
})
afterAll(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('behind TLS and a password', () => {
  it('ioredis decides', async () => {
    const client = new Redis(tlsPort, { password: 'secret', tls: { ca } })
    onTestFinished(() => client.disconnect())
    expect((await openOneLimit(client, 5_000).take('ioredis')).remaining).toBe(LIMIT - 1)
  })

  it('node-redis decides', async () => {
    const client = createClient({ password: 'secret', socket: { port: tlsPort, host: '127.0.0.1', tls: true, ca } })
    client.on('error', () => {})
    await client.connect()
    onTestFinished(() => client.destroy())
    expect((await openOneLimit(client, 5_000).take('node-redis')).remaining).toBe(LIMIT - 1)
  })

  it('a client that does not trust the server gets no decision, and nothing is counted', async () => {
    const client = new Redis(tlsPort, { password: 'secret', tls: {}, maxRetriesPerRequest: 0 })
    const seen: string[] = []
    client.on('error', (error) => seen.push(error.message))
    onTestFinished(() => client.disconnect())
    await openOneLimit(client, 5_000).expectToFail('STORE_FAILED', '', 'stranger')
    expect(seen[0]).toMatch(/self-signed certificate/)
    const trusting = new Redis(tlsPort, { password: 'secret', tls: { ca } })
    onTestFinished(() => trusting.disconnect())
    expect((await openOneLimit(trusting, 5_000).take('stranger')).remaining).toBe(LIMIT - 1)
  })

  it('a wrong password is reported as one', async () => {
    const client = new Redis(tlsPort, { password: 'wrong', tls: { ca } })
    client.on('error', () => {})
    onTestFinished(() => client.disconnect())
    const words = 'the server rejects the user or the password. Correct them in the client (WRONGPASS '
    await openOneLimit(client, 5_000).expectToFail('STORE_DENIED', words)
  })
})
