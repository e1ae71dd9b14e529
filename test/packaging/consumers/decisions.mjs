import { createLimiter, fixedWindow } from 'sluice'
import { manualClock } from 'sluice/testing'

const clock = manualClock(0)
const limiter = createLimiter({ name: 'consumer', rule: fixedWindow({ limit: 2, window: 1_000 }), clock })

const decisions = []
for (let request = 0; request < 3; request++) decisions.push(await limiter.consume('user:1'))
clock.advance(1_000)
decisions.push(await limiter.consume('user:1'))
console.log(JSON.stringify(decisions))
