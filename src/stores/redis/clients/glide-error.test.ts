import { expect, it } from 'vitest'
import { serverWords } from './glide-error.ts'

const signalled = 'An error was signalled by the server: - '

it.each([
  [`${signalled}NoScriptError: No matching script.`, 'NOSCRIPT No matching script.'],
  [`${signalled}ResponseError: unknown command`, 'ERR unknown command'],
  [`${signalled}ResponseError: - NoScriptError: quoted`, 'ERR - NoScriptError: quoted'],
  [`${signalled}BusyLoadingError: Redis is loading`, 'LOADING Redis is loading'],
  [`${signalled}PermissionDenied: User has no permissions`, 'NOPERM User has no permissions'],
  [`${signalled}ExecAbortError: Transaction discarded`, 'EXECABORT Transaction discarded'],
  [`${signalled}ReadOnly: You can't write`, "READONLY You can't write"],
  [`${signalled}ClusterDown: The cluster is down`, 'CLUSTERDOWN The cluster is down'],
  [
    "OOM: command not allowed when used memory > 'maxmemory'.",
    "OOM command not allowed when used memory > 'maxmemory'.",
  ],
  [
    'Standalone connect failed - IoError: Received error for address `127.0.0.1:6379`: WRONGPASS: invalid pair.\n',
    'WRONGPASS invalid pair.',
  ],
  [
    'Failed to create initial connections - IoError: Node: "127.0.0.1:7000" received errors: `NOAUTH: no.`, `NOAUTH: no.`',
    'NOAUTH no.',
  ],
  ['WRONGTYPE: two\nlines: of words', 'WRONGTYPE two\nlines: of words'],
])('finds in %j what the server has said', (message, words) => {
  expect(serverWords(message)).toBe(words)
})

it.each([
  'timed out',
  'Unable to execute requests; the client is closed. Please create a new client.',
  'Reached maximum inflight requests',
  `FatalSendError: ${signalled}NoScriptError: No matching script.`,
])('finds nothing of the server in %j', (message) => {
  expect(serverWords(message)).toBeUndefined()
})
