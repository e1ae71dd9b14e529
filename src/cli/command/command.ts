import type { Command } from 'commander'
import type { Terminal } from '../terminal/terminal.ts'

/** Adds one command to a program, or a command below another. Each command exports one, and `program.ts` lists them. */
export type RegisterCommand = (parent: Command, terminal: Terminal) => void
