import { writeFile } from 'node:fs/promises'
import { dirname, relative, resolve, sep } from 'node:path'
import type { RegisterCommand } from '../command/command.ts'
import { CommandFailure, UsageError } from '../terminal/command-failure.ts'
import { printable } from '../terminal/printable.ts'
import { composeTemplate } from './policies-template.ts'

/** `sluice init`: a file of policies to begin with. */
export const registerInit: RegisterCommand = (program, terminal) => {
  program
    .command('init')
    .description('write a commented policies file to start from')
    .argument('[file]', 'the file to write', 'limits.yaml')
    .option('--force', 'overwrite an existing file')
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, { force }: { force?: true }) => {
      await write(file, composeTemplate(printable(file), printable(locateSchema(file))), force === true)
      terminal.out(`${printable(`${file} is written. Check it after each change: npx sluice check ${file}`)}\n`)
    })
}

/** Where an editor finds the schema from the folder of the file, when the package is installed where the command runs. */
function locateSchema(file: string): string {
  const path = relative(dirname(resolve(file)), resolve('node_modules/sluice/dist/policies.schema.json'))
  const portable = path.split(sep).join('/')
  return portable.startsWith('.') ? portable : `./${portable}`
}

async function write(file: string, text: string, overwrites: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: overwrites ? 'w' : 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new UsageError(`${file} exists already. Overwrite it with --force`)
    throw new CommandFailure(`${file} cannot be written: ${message}`, undefined, { cause: error })
  }
}

const EXAMPLES = `
Examples:
  sluice init
  sluice init config/limits.yaml --force
`
