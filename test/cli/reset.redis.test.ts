import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { type KeyStage, RULES, said, startKeyStage } from './key-stage.ts'
import { writePolicies } from './policy-file.ts'

let stage: KeyStage
let url: string
beforeAll(async () => {
  stage = await startKeyStage()
  url = stage.url
})
afterAll(() => stage?.stop())

describe('reset', () => {
  const file = () => writePolicies(RULES)
  const used = async (key: string) => {
    const limiter = stage.limiterNamed(RULES, 'fixed')
    await limiter.consume(key, { cost: 5 })
    return async () => (await limiter.peek(key)).remaining
  }

  it('forgets a key under its prefix, and no other', async () => {
    const remaining = await used('eve')
    const args = ['--policies', await file(), '--policy', 'fixed', '--redis', url, '--prefix', 'shop:']
    expect((await said('reset', 'eve', ...args)).code).toBe(0)
    expect(await remaining()).toBe(0)
  })

  it('forgets a key', async () => {
    const remaining = await used('bob')
    const result = await said('reset', 'bob', '--policies', await file(), '--policy', 'fixed', '--redis', url)
    expect(result).toEqual({ code: 0, out: 'bob is reset for the policy fixed\n', err: '' })
    expect(await remaining()).toBe(5)
  })

  it.each([
    ['y', 0, 5],
    ['YES ', 0, 5],
    ['', 1, 0],
    ['no', 1, 0],
    ['yesterday', 1, 0],
  ])('asks who is there: %j', async (answer, code, left) => {
    const remaining = await used(`asked ${answer}`)
    const questions: string[] = []
    const keyboard = {
      ask: async (question: string) => {
        questions.push(question)
        return answer
      },
      onKey: () => () => {},
    }
    const terminal = recordingTerminal({ keyboard })
    const args = ['reset', `asked ${answer}`, '--policies', await file(), '--policy', 'fixed', '--redis', url]
    expect(await run(args, terminal)).toBe(code)
    expect(questions).toEqual([`Reset asked ${answer} for the policy fixed at 127.0.0.1:${stage.server.port}? [y/N] `])
    expect(await remaining()).toBe(left)
    expect(terminal.errors()).toBe(code === 0 ? '' : 'sluice: nothing was reset\n')
    expect(await run([...args, '--yes'], terminal)).toBe(0)
    expect(questions).toHaveLength(1)
  })
})
