import { expect } from 'vitest'

/** What every script says to a request that it does not know, before the request itself. */
export const REQUESTS: string =
  'ERR sluice: a request must be a cost, peek:cost, charge:amount, refund:amount, reserve:amount:id:milliseconds, ' +
  'grant:amount:soon:want:id:milliseconds:least, settle:id:used, extend:id:milliseconds, block:milliseconds, reblock:milliseconds, unblock or reset, got '

/** What every script says to a key that it must not touch. */
export const FOREIGN = 'ERR sluice: the key holds something else than a state of this rule, and it was left as it is'

/** Requests that are not one. */
export const MALFORMED: readonly string[] = [
  ...['', ':1', '5:6', 'take:1', 'constructor', 'peek 1', 'peek7', 'peek:-1', 'peek:1:2', 'charge:1.5', 'charge:inf'],
  ...['unblock:7', 'reset:7', 'refund:1:2:3', 'refund:1:-2', 'refund:1:nan', 'block:1:2'],
  ...[
    'reserve',
    'reserve:1',
    'reserve:1:2',
    'reserve:1:2:',
    'reserve:1:2:3:4',
    'reserve:1:2:1.5',
    'reserve:nan:2:3',
    'reserve:1:-2:3',
  ],
  ...['settle', 'settle:1', 'settle:1:2:3', 'settle:1:1.5', 'settle:1:inf', 'extend', 'extend:1', 'extend:1:2:3'],
  ...['grant', 'grant:1', 'grant:1:2:3:4:5', 'grant:1:2:3:4:5:6:7', 'grant:1:2:3:4:5:6:7:8:9', 'grant:1:2:3:4:5:x'],
  ...['blockFor:5', ':blockFor:5', '5:blockFor', '5:blockFor:', '5:blockFor:x', '5:blockFor:1.5', '5:blockFor:-5'],
  ...[
    'peek:1:blockFor:5',
    'charge:1:blockFor:5',
    'settle:1:1:blockFor:5',
    'extend:1:1:blockFor:5',
    'reserve:1:blockFor:5',
  ],
  ...['unblock:blockFor:5', '5:blockFor:5:blockFor:6', 'reserve:1:2:3:4:blockFor:5'],
]

const whole = (what: string, got: string): string => `${what} must be a whole number of at least 1, got ${got}`
const milliseconds = (what: string, got: string): string =>
  `the milliseconds of ${what === 'extend' ? 'an' : 'a'} ${what} must be a whole number from 1 to 315619200000, got ${got}`

/** Requests with a number that is out of range, and what the scripts say. */
export const WRONG_NUMBERS: readonly (readonly [request: string, message: string])[] = [
  ['block', milliseconds('block', 'nil')],
  ['block:0', milliseconds('block', '0')],
  ['charge:0', whole('the amount of a charge', '0')],
  ['refund:9007199254740993', whole('the amount of a refund', '9007199254740993')],
  ['refund:0:1', whole('the amount of a refund', '0')],
  ['refund:1:9007199254740993', 'the time of a refund must be a whole number of at least 0, got 9007199254740993'],
  ['reserve:0:1:1', whole('the amount of a reserve', '0')],
  ['reserve:1:0:1', whole('the id of a reserve', '0')],
  ['reserve:1:9007199254740992:1', whole('the id of a reserve', '9007199254740992')],
  ['reserve:1:1:0', milliseconds('reserve', '0')],
  ['reserve:1:1:315619200001', milliseconds('reserve', '315619200001')],
  ['reserve:1:1:1:blockFor:0', milliseconds('blockFor', '0')],
  ['grant:0:0:1:1:1:1', whole('the amount of a grant', '0')],
  ['grant:5:0:4:1:1:1', 'what a grant wants must be a whole number of at least 5, got 4'],
  ['grant:1:0:1:0:1:1', whole('the id of a grant', '0')],
  ['grant:1:0:1:1:60001:1', 'the milliseconds of a grant must be a whole number from 1 to 60000, got 60001'],
  ['grant:1:0:1:1:9:10', 'the least milliseconds of a grant must be a whole number from 1 to 9, got 10'],
  ['grant:1:0:1:1:9:9:0:1', whole('the id of the grant before', '0')],
  ['settle:0:1', whole('the id of a settle', '0')],
  ['settle:1:9007199254740992', 'the amount of a settle must be a whole number of at least 0, got 9007199254740992'],
  ['extend:0:1', whole('the id of an extend', '0')],
  ['extend:1:0', milliseconds('extend', '0')],
  ['extend:1:315619200001', milliseconds('extend', '315619200001')],
  ['5:blockFor:0', milliseconds('blockFor', '0')],
  ['5:blockFor:315619200001', milliseconds('blockFor', '315619200001')],
  ['0:blockFor:5', whole('the cost', '0')],
  ['nan:blockFor:5', whole('the cost', 'nan')],
  ['1.5:blockFor:5', whole('the cost', '1.5')],
]

/** What the server said, without the place in the script that it adds. */
export async function errorOf(running: Promise<unknown>): Promise<string> {
  const error = await running.then(
    () => expect.fail('the script did not refuse'),
    (reason: Error) => reason,
  )
  return error.message.replace(/ script: .*$/, '')
}

/** Numbers as the scripts keep them. */
export function doubles(...numbers: readonly number[]): Buffer {
  return Buffer.from(Float64Array.from(numbers).buffer)
}
