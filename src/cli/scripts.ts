import type { AddCommand } from './program.ts'
import { checkCommand } from './scripts/check.ts'
import { listCommand } from './scripts/list.ts'
import { loadCommand } from './scripts/load.ts'
import { printCommand } from './scripts/print.ts'

/** `sluice scripts`: the Lua scripts, for people and for other languages. */
export const addScripts: AddCommand = (program, terminal) => {
  const scripts = program
    .command('scripts')
    .description('the Lua scripts: list, print, load and check them')
    .addHelpText('after', EXAMPLES)
  for (const add of [listCommand, printCommand, loadCommand, checkCommand]) add(scripts, terminal)
}

const EXAMPLES = `
Examples:
  sluice scripts list
  sluice scripts print token-bucket > token-bucket.lua
  sluice scripts print token-bucket@1 | redis-cli -x SCRIPT LOAD
  sluice scripts load --redis redis-cluster://10.0.0.1:7000,10.0.0.2:7000
  sluice scripts check --redis redis://127.0.0.1:6379
`
