import { expect, it, onTestFinished } from 'vitest'

it('the program runs what the arguments of the process say, and ends with its code', async () => {
  const { argv, exitCode } = process
  onTestFinished(() => {
    process.argv = argv
    process.exitCode = exitCode
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal)
  })
  process.argv = [process.execPath, 'sluice', 'inspect', 'x']
  await import('../../src/cli/sluice.ts')
  expect(process.exitCode).toBe(2)
})
