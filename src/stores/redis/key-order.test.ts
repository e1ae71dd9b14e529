import { expect, it } from 'vitest'
import { type OrderedKeys, type Pending, release, sendInOrder, type Waiting } from './key-order.ts'

/** The keys of a limit, all of which wait for one decision. */
function keysBehind(first: Pending): OrderedKeys {
  const waiting = new Map<string, Waiting>()
  return { waiting, listPending: (key) => [waiting.get(key) ?? first] }
}

it('sends what waits on a key in the order in which it came, however much it is', () => {
  const first: Pending = { followers: undefined }
  const keyspace = keysBehind(first)
  const sent: number[] = []
  for (let call = 0; call < 20_000; call++) sendInOrder([{ keyspace, key: 'ann' }], () => sent.push(call))
  expect(sent).toEqual([])
  release(first.followers as Waiting[])
  expect(sent).toEqual(Array.from({ length: 20_000 }, (_, call) => call))
  expect(keyspace.waiting.size).toBe(0)
})

it('sends a call on several keys after all that came before it on any of them', () => {
  const [ann, bob] = [{ followers: undefined }, { followers: undefined }] as [Pending, Pending]
  const places = [ann, bob].map((first) => ({ keyspace: keysBehind(first), key: 'ann' }))
  const sent: string[] = []
  for (const [index, place] of places.entries()) sendInOrder([place], () => sent.push(`alone ${index}`))
  sendInOrder(places, () => sent.push('both'))
  release(bob.followers as unknown as Waiting[])
  expect(sent).toEqual(['alone 1'])
  release(ann.followers as unknown as Waiting[])
  expect(sent).toEqual(['alone 1', 'alone 0', 'both'])
})
