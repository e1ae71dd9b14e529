import type { RegisterCommand } from '../command/command.ts'
import { findScript } from './catalog.ts'

/** `sluice scripts print`. */
export const registerPrint: RegisterCommand = (scripts, terminal) => {
  scripts
    .command('print')
    .description('the text of a script, as a server gets it')
    .argument('<name[@version]>', 'such as sliding-window, or sliding-window@1')
    .action((label: string) => terminal.out(findScript(label).source))
}
