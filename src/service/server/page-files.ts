import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import type { ServiceResponse } from './response.ts'

/** Answers with a file of the page; `undefined` when there is none of that path. */
export type ServeFile = (path: string, ifNoneMatch: string | undefined) => ServiceResponse | undefined

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

/** Everything comes from here and nothing goes elsewhere: what a page could be made to load or send by others is ruled out. */
const HEADERS = {
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  // Browsers keep the page and ask each time whether it changed: after an update they show the new one.
  'cache-control': 'no-cache',
}

/**
 * Reads the files of a folder once. What is not among them then cannot be had, whatever a path says. Of other types than a page is made
 * of, such as source maps, nothing is read.
 */
export async function readPage(folder: string): Promise<ServeFile> {
  const files = new Map<string, Omit<ServiceResponse, 'status'>>()
  for (const name of await readdir(folder, { recursive: true })) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const body = await readFile(join(folder, name))
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    const path = `/${name.split(sep).join('/')}`
    const read = { headers: { ...HEADERS, 'content-type': type, etag }, body }
    files.set(path, read)
    if (path === '/index.html') files.set('/', read)
  }
  return (path, ifNoneMatch) => {
    const file = files.get(path)
    if (file === undefined) return undefined
    const isKnown = ifNoneMatch?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === file.headers.etag)
    return isKnown ? { status: 304, headers: file.headers, body: '' } : { status: 200, ...file }
  }
}
