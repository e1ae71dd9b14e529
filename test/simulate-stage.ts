import { expect } from 'vitest'
import { run } from '../src/cli/program.ts'
import type { Terminal } from '../src/cli/terminal/terminal.ts'
import { type RecordingTerminal, recordingTerminal } from './recording-terminal.ts'

/** Runs `sluice simulate` with these arguments: its exit code, and what it has written. */
export async function simulated(
  args: readonly string[],
  overrides: Partial<Terminal> = {},
): Promise<[number, RecordingTerminal]> {
  const terminal = recordingTerminal(overrides)
  return [await run(['simulate', ...args], terminal), terminal]
}

/** What it says as JSON. It has to succeed, and to say nothing else. */
export async function simulatedJson(
  args: readonly string[],
): Promise<{ traffic: string; results: Record<string, unknown>[] }> {
  const [code, terminal] = await simulated([...args, '--json'])
  expect([code, terminal.errors()]).toEqual([0, ''])
  return JSON.parse(terminal.text())
}

/** What it says when it was asked wrongly; nothing is printed then. */
export async function simulateMistake(...args: string[]): Promise<string> {
  const [code, terminal] = await simulated(args)
  expect([code, terminal.text()]).toEqual([2, ''])
  return terminal.errors()
}
