import { expect, it } from 'vitest'
import { LimiterError } from '../../core/limiter-error.ts'
import { callFailure } from './call-failure.ts'

const failureOf = (words: string) => callFailure('Redis did not decide', new Error(words), ['a', 'b'])

// What servers and clients say that the tests on real servers do not meet: Redis 6 and older ones.
it.each<[string, string, string]>([
  [
    "ERR Error running script (call to f_5a8a): @user_script:106: @user_script: 106: -OOM command not allowed when used memory > 'maxmemory'.",
    'STORE_FAILED',
    "the server's memory is full. Raise maxmemory",
  ],
  [
    "ERR Error running script (call to f_5a8a): @user_script:9: -READONLY You can't write against a read only replica.",
    'STORE_FAILED',
    'the server is a replica and takes no writes. Connect to the primary',
  ],
  [
    "ERR Error running script (call to f_5a8a): @user_script:9: @user_script: 9: The user executing the script can't run this command or subcommand",
    'STORE_DENIED',
    'the user may not send a command of the script. Grant it',
  ],
  [
    'ERR Error running script (call to f_5a8a): @user_script:9: WRONGTYPE Operation against a key holding the wrong kind of value',
    'FOREIGN_KEY',
    'one of the keys "a", "b" holds a value that Sluice has not written. Delete it, or set another prefix; it is unchanged',
  ],
  [
    'ERR Error running script (call to f_5a8a): @user_script:9: sluice: the key holds something else than a state of this rule, and it was left as it is',
    'FOREIGN_KEY',
    'one of the keys "a", "b" holds a value that Sluice has not written. Delete it, or set another prefix; it is unchanged',
  ],
  [
    'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
    'STORE_DENIED',
    'the server rejects the user or the password. Correct them in the client',
  ],
  ['ERR invalid password', 'STORE_DENIED', 'the server rejects the user or the password. Correct them in the client'],
  [
    "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
    'STORE_DENIED',
    'the user may not send this command. Grant it',
  ],
  ...[
    'ERR Unknown Redis command called from script script: 985c, on @user_script:1.',
    'ERR Error running script (call to f_5a8a): @user_script:9: @user_script: 9: Unknown Redis command called from Lua script',
  ].map((words): [string, string, string] => [
    words,
    'STORE_DENIED',
    'the server has renamed or disabled a command that Sluice needs. Enable it',
  ]),
  ['MOVED 866 127.0.0.1:7001', 'STORE_FAILED', 'the slot has moved to another server, and the client did not follow'],
  [
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'STORE_FAILED',
    'the slot has moved to another server, and the client did not follow',
  ],
])('%j is %s, and said in words of ours', (words, code, hint) => {
  expect(failureOf(words)).toMatchObject({ code, message: `Redis did not decide: ${hint} (${words})` })
})

// A key or an argument may quote anything.
it.each([
  'connect ECONNREFUSED 127.0.0.1:6379',
  "ERR 'NOPERM this user has no permissions'",
  'ERR sluice: the cost must be a whole number from 1, got 0',
  'ERR the key holds something else than a state of this rule',
  'ERR quoted OOM command not allowed',
])('%j is reported as it is', (words) => {
  expect(failureOf(words)).toMatchObject({ code: 'STORE_FAILED', message: `Redis did not decide: ${words}` })
})

it('an error that has been reported already stays as it is', () => {
  const told = new LimiterError('UNSAFE_ENGINE', 'the server is Garnet')
  expect(callFailure('Redis did not decide', told)).toBe(told)
})

it('an error without a message is reported by its name', () => {
  expect(callFailure('Redis did not decide', new TypeError('')).message).toBe('Redis did not decide: TypeError')
  expect(callFailure('Redis did not decide', 'gone').message).toBe('Redis did not decide: gone')
})
