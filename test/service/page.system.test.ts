import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rawConnection } from './raw-connection.ts'
import { type Stage, serving } from './service-stage.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-page-'))
  await mkdir(join(folder, 'page', 'parts'), { recursive: true })
  await writeFile(join(folder, 'secret.txt'), 'secret')
  await writeFile(join(folder, 'page', 'index.html'), '<!doctype html>')
  await writeFile(join(folder, 'page', 'parts', 'chart.js'), 'export {}')
  await writeFile(join(folder, 'page', 'page.js.map'), '{}')
})
afterAll(() => rm(folder, { recursive: true }))

const stage = (host = '127.0.0.1'): Promise<Stage> => serving({ page: join(folder, 'page'), host })

it('shows the page, which may load nothing from elsewhere and be framed by no other page', async () => {
  const { get } = await stage()
  const { status, headers, body } = await get('/')
  expect([status, body, headers.get('content-type')]).toEqual([200, '<!doctype html>', 'text/html; charset=utf-8'])
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  )
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect((await get('/index.html')).body).toBe('<!doctype html>')
})

it('has the files of folders inside, and needs no token for any, also where others can look', async () => {
  const { get } = await stage('0.0.0.0')
  const { status, headers, body } = await get('/parts/chart.js')
  expect([status, body, headers.get('content-type')]).toEqual([200, 'export {}', 'text/javascript; charset=utf-8'])
})

it('does not send again what a browser has', async () => {
  const { get } = await stage()
  const { headers } = await get('/')
  const etag = headers.get('etag') as string
  expect(headers.get('cache-control')).toBe('no-cache')
  for (const known of [etag, `"x", W/${etag}`]) {
    expect(await get('/', { 'if-none-match': known })).toMatchObject({ status: 304, body: '' })
  }
  expect((await get('/', { 'if-none-match': '"x"' })).status).toBe(200)
})

it.each([
  ['/../secret.txt', 404],
  ['/parts/../../secret.txt', 404],
  ['/%2e%2e/secret.txt', 404],
  ['//secret.txt', 404],
  ['/page.js.map', 404],
  ['/parts', 404],
  ['/parts/', 404],
  ['/index.html/', 404],
  ['http://localhost/', 404],
  ['*', 404],
  ['\\secret.txt', 400],
  ['/\0', 400],
])('has nothing at %j', async (path, status) => {
  const { socket, said, ended } = await rawConnection(await stage())
  socket.end(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  await ended
  expect(said()).toContain(`HTTP/1.1 ${status} `)
})

it('is only read', async () => {
  const { post } = await stage()
  const { status, headers } = await post('/', {})
  expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})
