import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { collectGarbage } from '../collect-garbage.ts'
import { remoteStore } from '../remote-store.ts'
import { rawConnection } from './raw-connection.ts'
import { serving, TOKEN } from './service-stage.ts'

const MEGABYTE = 1_048_576

const head = (...lines: readonly string[]) => {
  const common = ['POST /v1/consume HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${TOKEN}`]
  return `${[...common, 'Content-Type: application/json', ...lines].join('\r\n')}\r\n\r\n`
}

/** Sends this many bytes, as long as the other side takes them. */
const flood = async (socket: Socket, bytes: number, frame: (chunk: Buffer) => Buffer = (chunk) => chunk) => {
  const chunk = Buffer.alloc(65_536, ' ')
  for (let sent = 0; sent < bytes && socket.writable; sent += chunk.length) {
    if (!socket.write(frame(chunk)))
      await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve))
  }
}

const chunked = (chunk: Buffer) =>
  Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])

describe('a body of 10 MB is refused, and all other clients are served', () => {
  it('before it is sent, when it is announced', async () => {
    const stage = await serving()
    const { socket, said, ended } = await rawConnection(stage)
    socket.write(head(`Content-Length: ${10 * MEGABYTE}`))
    await expect.poll(said).toContain('HTTP/1.1 413 ')
    expect(said()).toContain('connection: close')
    expect(said()).toContain('"code":"BODY_TOO_LARGE","message":"the body must have at most 1048576 bytes, got more"')
    expect(await stage.remaining('api', 'a')).toBe(10)
    socket.destroy()
    await ended
  })

  it('while it is sent, and the answer can be read all the same', async () => {
    const stage = await serving()
    const { socket, said, ended } = await rawConnection(stage)
    socket.write(head(`Content-Length: ${10 * MEGABYTE}`))
    await flood(socket, 10 * MEGABYTE)
    await ended
    expect(said()).toContain('HTTP/1.1 413 ')
    expect(await stage.remaining('api', 'a')).toBe(10)
  })

  it('at the byte that is too much, when it is not announced', async () => {
    const stage = await serving()
    collectGarbage()
    const before = process.memoryUsage().arrayBuffers
    const lines = await Promise.all(Array.from({ length: 8 }, () => rawConnection(stage)))
    const floods = lines.map(async ({ socket }) => {
      socket.write(head('Transfer-Encoding: chunked'))
      await flood(socket, 5 * MEGABYTE, chunked)
    })
    expect((await stage.post('/v1/consume', { policy: 'api', key: 'b' })).body.remaining).toBe(9)
    await Promise.all(floods)
    for (const { said } of lines) await expect.poll(said).toContain('HTTP/1.1 413 ')
    const keptBytes = (): number => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers - before
    }
    // Of forty megabytes at most eight times the limit, as soon as what is on its way has arrived.
    await expect.poll(keptBytes).toBeLessThan(16 * MEGABYTE)
    for (const { socket } of lines) socket.destroy()
    await Promise.all(lines.map(({ ended }) => ended))
    expect(await stage.remaining('api', 'a')).toBe(10)
  })

  it('when it is announced as shorter: what comes after is no request', async () => {
    const stage = await serving()
    const { socket, said, ended } = await rawConnection(stage)
    socket.write(head('Content-Length: 10'))
    await flood(socket, 10 * MEGABYTE)
    await ended
    expect(said().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    expect(said()).toContain('INVALID_JSON')
    expect(await stage.remaining('api', 'a')).toBe(10)
  })

  it('but a refused client is not listened to for long', async () => {
    const stage = await serving()
    const { socket, said, ended } = await rawConnection(stage)
    socket.write(head('Transfer-Encoding: chunked'))
    await flood(socket, 200 * MEGABYTE, chunked)
    await ended
    expect(socket.bytesWritten).toBeLessThan(60 * MEGABYTE)
    expect(said()).toContain('HTTP/1.1 413 ')
  })

  it('and so is one byte over the limit, but not the limit itself', async () => {
    const { post } = await serving({ maxBodyBytes: 100 })
    const body = JSON.stringify({ policy: 'api', key: 'a' })
    expect((await post('/v1/consume', body.padEnd(100))).status).toBe(200)
    expect((await post('/v1/consume', body.padEnd(101))).status).toBe(413)
  })
})

describe('a body that does not come in time', () => {
  const slowly = 'Content-Length: 1000'

  it('is answered with 408 and ends its connection, and counts nothing', async () => {
    const stage = await serving({ requestMs: 300 })
    const { socket, said, ended } = await rawConnection(stage)
    socket.write(`${head(slowly)}{`)
    await ended
    expect(said().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 408'])
    expect(said()).toContain('connection: close')
    expect(said()).toContain('"code":"INVALID_REQUEST","message":"the request timed out before it was complete"')
    expect(await stage.remaining('api', 'a')).toBe(10)
    expect((await stage.get('/metrics')).body).toContain(
      'sluice_http_requests_total{route="/v1/consume",status="408"} 1',
    )
  })

  it('is so also when a byte comes now and then', async () => {
    const stage = await serving({ requestMs: 300 })
    const { socket, said, ended } = await rawConnection(stage)
    socket.write(head(slowly))
    const dripping = setInterval(() => socket.write(' '), 20)
    await ended
    clearInterval(dripping)
    expect(said().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 408'])
  })

  it('ends its connection also when it was refused before it was read', async () => {
    const { socket, said, ended } = await rawConnection(await serving({ requestMs: 300 }))
    socket.write(`${head(slowly).replace(TOKEN, 'wrong')}{`)
    await ended
    expect(said()).toContain('HTTP/1.1 401 ')
  })

  it('takes no answer from a request before it', async () => {
    const store = remoteStore()
    const yaml = 'policies: { api: { rule: fixed-window, limit: 10, window: 1m, timeout: 1h } }'
    const { port, get } = await serving({ requestMs: 300, yaml, store })
    store.behaviour = 'silent'
    const { socket, said, ended } = await rawConnection({ port })
    const body = '{"policy":"api","key":"a"}'
    socket.write(`${head(`Content-Length: ${body.length}`)}${body}${head(slowly)}{`)
    await expect
      .poll(async () => (await get('/metrics')).body)
      .toContain('sluice_http_requests_total{route="/v1/consume",status="408"} 1')
    store.speak()
    await ended
    expect(said()).toContain('"remaining":9')
    expect(said().match(/HTTP\/1\.1 \d+/g)?.[0]).toBe('HTTP/1.1 200')
  })
})

describe('a client that asks before it sends', () => {
  it('is asked to go on', async () => {
    const stage = await serving()
    const { socket, said } = await rawConnection(stage)
    const body = JSON.stringify({ policy: 'api', key: 'a' })
    socket.write(head(`Content-Length: ${body.length}`, 'Expect: 100-continue'))
    await expect.poll(said).toContain('HTTP/1.1 100 Continue')
    socket.write(body)
    await expect.poll(said).toContain('"remaining":9')
    socket.destroy()
  })

  it('is asked to stop, when it would be too much', async () => {
    const stage = await serving()
    const { socket, said } = await rawConnection(stage)
    socket.write(head(`Content-Length: ${10 * MEGABYTE}`, 'Expect: 100-continue'))
    await expect.poll(said).toContain('HTTP/1.1 413 ')
    expect(said()).not.toContain('100 Continue')
    socket.destroy()
  })
})

describe('a connection', () => {
  it('is used again after a small unread body', async () => {
    const stage = await serving()
    const { socket, said } = await rawConnection(stage)
    const wrong = head('Content-Length: 4').replace(TOKEN, 'wrong')
    socket.write(`${wrong}1234${head('Content-Length: 28')}{"policy":"api","key":"last"}`.replace('28', '29'))
    await expect.poll(said).toContain('"remaining":9')
    expect(said().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200'])
    socket.destroy()
  })

  it('that stops being HTTP in the middle of a body gets an error, and counts nothing', async () => {
    const stage = await serving()
    const { socket, said, ended } = await rawConnection(stage)
    socket.write(`${head('Transfer-Encoding: chunked')}1a\r\n{"policy":"api","key":"a"}\r\nno length\r\n`)
    await ended
    expect(said().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    expect(said()).toContain('"code":"INVALID_REQUEST","message":"this is no request of HTTP: ')
    expect(await stage.remaining('api', 'a')).toBe(10)
  })

  it('that ends in the middle of a body counts nothing', async () => {
    const stage = await serving()
    const { socket, ended } = await rawConnection(stage)
    socket.write(`${head('Content-Length: 100')}{"policy":"api","key":"a"}`)
    socket.destroy()
    await ended
    expect(await stage.remaining('api', 'a')).toBe(10)
    expect((await stage.get('/healthz')).status).toBe(200)
  })

  it('that is closed while its request is decided harms no other, and the decision counts', async () => {
    const store = remoteStore()
    const yaml = 'policies: { api: { rule: fixed-window, limit: 10, window: 1m, timeout: 1h } }'
    const stage = await serving({ yaml, store })
    store.behaviour = 'silent'
    const { socket, said, ended } = await rawConnection(stage)
    const body = '{"policy":"api","key":"a"}'
    socket.write(`${head(`Content-Length: ${body.length}`)}${body}`)
    await expect.poll(() => store.asked).toBe(1)
    socket.resetAndDestroy()
    await ended
    // The service has seen the end when it has answered a later client.
    await stage.get('/healthz')
    store.speak()
    store.behaviour = 'answers'
    expect(await stage.remaining('api', 'a')).toBe(9)
    expect(said()).toBe('')
  })

  it('that carries no HTTP is closed, also when its client does not close it', async () => {
    const stage = await serving()
    const { socket, said, ended } = await rawConnection(stage, { stays: true })
    // A client that goes on sending notices that the service is gone.
    const sending = setInterval(() => socket.write('hello there\r\n\r\n'), 50)
    await ended
    clearInterval(sending)
    expect(said().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
  })

  it('that is reset in the middle of a request harms no other', async () => {
    const stage = await serving()
    const { socket, ended } = await rawConnection(stage)
    socket.write('GET /healthz HTTP/1.1\r\nHost: loc')
    await stage.get('/healthz')
    socket.resetAndDestroy()
    await ended
    expect((await stage.get('/healthz')).status).toBe(200)
  })

  it('without a host is refused', async () => {
    const stage = await serving()
    const { socket, said, ended } = await rawConnection(stage)
    socket.write('GET /healthz HTTP/1.0\r\n\r\n')
    await ended
    expect(said()).toContain('HTTP/1.1 421 ')
  })

  it.each(['localhost', 'evil.example'])('that names a second host, %s, is refused', async (other) => {
    const { socket, said, ended } = await rawConnection(await serving())
    socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nhOST: ${other}\r\nConnection: close\r\n\r\n`)
    await ended
    expect(said()).toContain('HTTP/1.1 400 ')
    expect(said()).toContain('"code":"INVALID_REQUEST","message":"a request must have one Host header, got 2"')
  })

  it('that names a second host is refused also where others can ask', async () => {
    const { socket, said, ended } = await rawConnection(await serving({ host: '0.0.0.0' }))
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\nConnection: close\r\n\r\n')
    await ended
    expect(said()).toContain('HTTP/1.1 400 ')
  })

  it.each([
    ['no HTTP at all', 'hello there\r\n\r\n', 'HTTP/1.1 400 Bad Request'],
    ['headers without end', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 'HTTP/1.1 431 '],
  ])('is refused for carrying %s', async (_, text, line) => {
    const stage = await serving()
    const { socket, said, ended } = await rawConnection(stage)
    socket.write(text)
    await ended
    expect(said()).toContain(line)
    expect(said()).toContain('"code":"INVALID_REQUEST"')
  })
})
