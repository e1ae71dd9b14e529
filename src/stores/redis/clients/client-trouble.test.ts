import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { findTrouble } from './client-trouble.ts'

const wrong = new Error('WRONGPASS invalid username-password pair or user is disabled.')

it('is known from errors that others listen to, and adds no listener to those', () => {
  const client = new EventEmitter()
  const trouble = findTrouble(client)
  trouble.listen()
  trouble.listen()
  expect(client.listenerCount('error')).toBe(0)
  expect(() => client.emit('error', wrong)).toThrow(wrong)
  expect(trouble.error).toBe(wrong)
  expect(findTrouble(client)).toBe(trouble)
})

it('is over when a server has answered', () => {
  const client = new EventEmitter()
  const trouble = findTrouble(client)
  trouble.listen()
  client.emit('node error', wrong)
  expect(trouble.error).toBe(wrong)
  trouble.over()
  expect(trouble.error).toBeUndefined()
})

it.each([new Error('connect ECONNREFUSED'), new Error("ERR 'WRONGPASS quoted'"), 'WRONGPASS '])(
  'is not that a client cannot connect at all: %s',
  (error) => {
    const trouble = findTrouble(new EventEmitter())
    trouble.hear(error)
    expect(trouble.error).toBeUndefined()
  },
)
