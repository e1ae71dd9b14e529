import { expect, it } from 'vitest'
import { describeReads, formatPageUrl, formatUrl } from './started.ts'

it('an address of six is put in brackets', () => {
  expect(formatUrl({ address: '::1', port: 8080, isLocal: true })).toBe('http://[::1]:8080')
  expect(formatUrl({ address: '127.0.0.1', port: 8080, isLocal: true })).toBe('http://127.0.0.1:8080')
})

it('the address of the page has the token only when it is new', () => {
  expect(formatPageUrl('http://a', { text: 'secret', isNew: true, inShell: 'secret' })).toBe('http://a/#token=secret')
  expect(formatPageUrl('http://a', { text: 'secret', isNew: false, inShell: '$SLUICE_TOKEN' })).toBe('http://a/')
})

it('says who needs the token to look, and why', () => {
  const here = { address: '127.0.0.1', port: 8080, isLocal: true }
  expect(describeReads(here, [])).toBe('need no token on this machine; through a proxy they do')
  expect(describeReads(here, ['limits.example'])).toBe('need the token: --allow-host says that a proxy is in front')
  expect(describeReads({ ...here, isLocal: false }, [])).toBe('need the token: others can reach this address')
})
