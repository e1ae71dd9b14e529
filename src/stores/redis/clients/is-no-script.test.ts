import { expect, it } from 'vitest'
import { isNoScript } from './is-no-script.ts'

it.each(['NOSCRIPT No matching script. Please use EVAL.', 'NOSCRIPT No matching script.'])(
  'a missing script is what a server says by %j',
  (message) => {
    expect(isNoScript(new Error(message))).toBe(true)
  },
)

it.each<[unknown]>([
  [new Error('ERR NOSCRIPT No matching script.')],
  [new Error('ERR user_script:1: NOSCRIPT No matching script. script: 7b5c, on @user_script:1.')],
  [new Error("WRONGTYPE the key 'NOSCRIPT No matching script.' holds another type")],
  [new Error('NOSCRIPTS No matching scripts.')],
  [new Error('\nNOSCRIPT No matching script.')],
  [new Error('')],
  ['NOSCRIPT No matching script.'],
  [undefined],
])('a missing script is not what is meant by %s', (error) => {
  expect(isNoScript(error)).toBe(false)
})
