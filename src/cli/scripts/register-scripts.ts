import type { RegisterCommand } from '../command/command.ts'
import { registerCheck } from './check.ts'
import { registerList } from './list.ts'
import { registerLoad } from './load.ts'
import { registerPrint } from './print.ts'

/** `sluice scripts`: the Lua scripts, for people and for other languages. */
export const registerScripts: RegisterCommand = (program, terminal) => {
  const scripts = program
    .command('scripts')
    .description('the Lua scripts: list, print, load and check them')
    .addHelpText('after', EXAMPLES)
  for (const register of [registerList, registerPrint, registerLoad, registerCheck]) register(scripts, terminal)
}

const EXAMPLES = `
Examples:
  sluice scripts list
  sluice scripts print token-bucket > token-bucket.lua
  sluice scripts print token-bucket@1 | redis-cli -x SCRIPT LOAD
  sluice scripts load --redis redis-cluster://10.0.0.1:7000,10.0.0.2:7000
  sluice scripts check --redis redis://127.0.0.1:6379
`
