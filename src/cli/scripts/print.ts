import type { AddCommand } from '../program.ts'
import { scriptNamed } from './catalog.ts'

/** `sluice scripts print`. */
export const printCommand: AddCommand = (scripts, terminal) => {
  scripts
    .command('print')
    .description('the text of a script, as a server gets it')
    .argument('<name[@version]>', 'such as sliding-window, or sliding-window@1')
    .action((label: string) => terminal.out(scriptNamed(label).source))
}
