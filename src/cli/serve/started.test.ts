import { expect, it } from 'vitest'
import { pageUrl, urlOf } from './started.ts'

it('an address of six is put in brackets', () => {
  expect(urlOf({ address: '::1', port: 8080, isLocal: true })).toBe('http://[::1]:8080')
  expect(urlOf({ address: '127.0.0.1', port: 8080, isLocal: true })).toBe('http://127.0.0.1:8080')
})

it('the address of the page has the token only when nobody knows it', () => {
  expect(pageUrl('http://a', { text: 'secret', isNew: true, inShell: 'secret' })).toBe('http://a/#token=secret')
  expect(pageUrl('http://a', { text: 'secret', isNew: false, inShell: '$SLUICE_TOKEN' })).toBe('http://a/')
})
