import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }

// The tests of test/gateways run the files, and readers copy the page.

const folder = new URL('../examples/gateways/', import.meta.url)
const page = readFileSync(new URL('../docs/gateways.md', import.meta.url), 'utf8')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /\w\/\w|\./.test(path))

it('finds the configurations', () => {
  expect(files.length).toBeGreaterThanOrEqual(8)
})

it.each(files)('the page prints %s as it is run', (path) => {
  const text = readFileSync(new URL(path, folder), 'utf8')
  const [, printed] = page.split(`(../examples/gateways/${path}):\n\n\`\`\``)
  expect(printed?.slice(printed.indexOf('\n') + 1, printed.indexOf('```'))).toBe(text)
})

it('the page names the version of the gRPC library', () => {
  const name = '@grpc/grpc-js'
  expect(page).toContain(`| ${name} ${packageJson.devDependencies[name]} |`)
})
