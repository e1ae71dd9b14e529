import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { LimiterError } from './limiter-error.ts'

const cause = new Error('gone')
const error = new LimiterError('STORE_FAILED', 'Redis did not decide', { cause })

it('has the message as it was given, the code and the cause', () => {
  expect(error).toMatchObject({ name: 'LimiterError', code: 'STORE_FAILED', message: 'Redis did not decide', cause })
  expect(`${error}`).toBe('LimiterError: Redis did not decide')
  expect(Object.keys(error)).not.toContain('message')
})

it('names the command that explains it where a console prints it', () => {
  expect(inspect(error)).toMatch(/^LimiterError: Redis did not decide \(npx sluice explain STORE_FAILED\)\n {4}at /)
  expect(inspect(error).match(/Redis did not decide/g)).toHaveLength(1)
})
