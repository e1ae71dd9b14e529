import { describe, expect, it } from 'vitest'
import { OutageLog } from './outage-log.ts'

const api = { name: 'api' }
const login = { name: 'login' }

describe('outages', () => {
  it('last as long as a limiter is without the store', () => {
    const log = new OutageLog()
    log.lost(api, new Error('no reply'), 100)
    log.lost(login, new Error('no reply'), 105)
    log.found(api, 300)
    expect(log.report()).toEqual([{ fromMs: 100, toMs: null, error: 'no reply' }])
    log.found(login, 310)
    log.found(login, 400)
    log.lost(api, 'a text', 500)
    expect(log.report()).toEqual([
      { fromMs: 100, toMs: 310, error: 'no reply' },
      { fromMs: 500, toMs: null, error: 'a text' },
    ])
  })

  it('go on for a limiter that takes over and knows of them from before', () => {
    const log = new OutageLog()
    log.lost(api, new Error('gone'), 100)
    log.found(api, 300)
    log.lost(login, new Error('gone'), 100)
    expect(log.report()).toEqual([{ fromMs: 100, toMs: null, error: 'gone' }])
  })

  it('are remembered up to a hundred', () => {
    const log = new OutageLog()
    for (let number = 0; number < 150; number++) {
      log.lost(api, 'gone', number * 10)
      log.found(api, number * 10 + 5)
    }
    expect(log.report()).toHaveLength(100)
    expect(log.report()[0]?.fromMs).toBe(500)
  })

  it('end for no limiter that had none', () => {
    const log = new OutageLog()
    log.found(api, 10)
    expect(log.report()).toEqual([])
  })
})
