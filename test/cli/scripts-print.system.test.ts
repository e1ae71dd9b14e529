import { describe, expect, it } from 'vitest'
import { assemble } from '../../scripts/lua/assemble.mjs'
import { run } from '../../src/cli/program.ts'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { recordingTerminal } from '../recording-terminal.ts'

async function print(...args: string[]) {
  const terminal = recordingTerminal()
  const code = await run(['scripts', 'print', ...args], terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

describe('scripts print', () => {
  it('prints the file of the package, for people', async () => {
    const { version } = getScript('token-bucket')
    for (const label of ['token-bucket', `token-bucket@${version}`]) {
      expect(await print(label)).toEqual({ code: 0, out: assemble('token-bucket', version), err: '' })
    }
  })

  it('prints the full script for any rule', async () => {
    const printed = { code: 0, out: assemble('sluice', getScript('sluice').version), err: '' }
    expect(await print('token-bucket', '--full')).toEqual(printed)
    expect(await print('--full')).toEqual(printed)
    expect(await print()).toEqual({
      code: 2,
      out: '',
      err: 'sluice: name a script, such as sliding-window, or --full\n',
    })
  })
})
