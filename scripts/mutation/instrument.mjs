import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Instrumenter } from '@stryker-mutator/instrumenter'

const silent = { debug() {}, info() {}, isDebugEnabled: () => false }
// Names and messages. What a name decides is a condition, and those are changed.
const options = { excludedMutations: ['StringLiteral'], ignorers: [], plugins: null }

/** Every change of these files, and a plugin for Vite that loads the files with all changes in them, none of them active. */
export async function instrument(paths) {
  const sources = paths.map((path) => ({ name: resolve(path), mutate: true, content: readFileSync(path, 'utf8') }))
  const { files, mutants } = await new Instrumenter(silent).instrument(sources, options)
  const contents = new Map(files.map(({ name, content }) => [name, withCounter(content)]))
  return {
    changes: mutants.filter(({ status }) => status !== 'Ignored'),
    plugin: { name: 'mutation', enforce: 'pre', load: (id) => contents.get(id) },
  }
}

// Stryker counts in an object for each test, which takes most of the time. The runner asks for counts only once.
function withCounter(content) {
  const counter = `function cover() {
    var reached = ns.reached;
    if (reached === undefined) return;
    for (var i = 0; i < arguments.length; i++) reached.set(arguments[i], (reached.get(arguments[i]) || 0) + 1);
    return;`
  if (!content.includes('function cover() {')) throw new Error('the instrumenter counts in another way now')
  return content.replace('function cover() {', counter)
}
