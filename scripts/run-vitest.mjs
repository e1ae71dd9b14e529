// Runs Vitest several times, each time on something else, and shows the results as one table.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs Vitest once, on the Node at the path `node`, and shows what it prints. Gives that output too, whether every test passed, and a
 * result that says so in one line.
 */
export async function runVitest(args, { env, node = process.execPath }) {
  const command = ['node_modules/vitest/vitest.mjs', 'run', ...args]
  const child = spawn(node, command, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
    process.stdout.write(text)
  })
  const [code] = await once(child, 'close')
  // The line of test/closing-line.ts.
  const counts = output.match(/^\d+ passed, \d+ failed.*$/gm)?.at(-1)
  const passed = code === 0 && counts !== undefined
  return {
    output,
    passed,
    result: [counts, passed ? undefined : `Vitest ended with ${code}`].filter(Boolean).join('; '),
  }
}

/**
 * Prints a table of `columns`, and `nothing` when no row was tested: such a row has no `passed`. The process then ends with 1, and also when
 * a row did not pass.
 */
export function report(columns, rows, nothing) {
  const tested = rows.filter(({ passed }) => passed !== undefined)
  console.log(`\n${table(columns, rows)}`)
  if (tested.length === 0) console.log(`\n${nothing}`)
  process.exitCode = tested.length === 0 || tested.some(({ passed }) => !passed) ? 1 : 0
}

function table(columns, rows) {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))]
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => cells[index].length)))
  return lines
    .map((cells) =>
      cells
        .map((cell, index) => cell.padEnd(widths[index]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
