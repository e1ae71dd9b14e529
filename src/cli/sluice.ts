#!/usr/bin/env node
import { run } from './program.ts'
import { createProcessTerminal } from './terminal/process-terminal.ts'

process.exitCode = await run(process.argv.slice(2), createProcessTerminal(process))
