// Runs the tests of the library once on every Node of scripts/nodes.json, and says which of them could not be had.
//
// Arguments go to Vitest: npm run test:nodes -- src/rules
// Ends with 1 when a test fails, or when there was no Node at all to run them on.
import { readFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { findNode } from './find-node.mjs'
import { report, runVitest } from './run-vitest.mjs'

const majors = JSON.parse(readFileSync(new URL('nodes.json', import.meta.url), 'utf8'))
// The other projects test the package, the pages and the tools, which are built on one Node only.
const projects = ['--project', 'unit', '--project', 'redis']

const rows = []
for (const major of majors) rows.push(await testOn(major))
report(['node', 'version', 'result'], rows, 'no Node could be had')

async function testOn(major) {
  console.log(`\nNode ${major}`)
  const row = { node: `${major}`, version: '' }
  try {
    const { path, version } = await findNode(major)
    // First on the PATH too, for tests that start `node` or `npm`.
    const env = { ...process.env, PATH: [dirname(path), process.env.PATH].join(delimiter) }
    const { passed, result } = await runVitest([...projects, ...process.argv.slice(2)], { env, node: path })
    return { ...row, version, passed, result }
  } catch (error) {
    return { ...row, result: `none, ${error.message}` }
  }
}
