import { concurrency, createLimiter, tokenBucket } from 'sluice'

/** What waits, and what holds permits: in which order callers pass, and who gets a permit. Leaves a lease that is never released. */
export async function runWaiting(store) {
  const open = (rule) => createLimiter({ name: `waiting-${crypto.randomUUID()}`, rule, store, timeout: '10s' })
  const turns = open(tokenBucket({ capacity: 1, refill: 1, period: 20 }))
  const daily = open(tokenBucket({ capacity: 1, refill: 1, period: '1d' }))
  const places = open(concurrency({ limit: 1, lease: '3s' }))
  const jobs = open(concurrency({ limit: 1, lease: '1h' }))
  return {
    turns: await takeTurns(turns),
    impatient: await givenUp(daily),
    jobs: await runJobs(jobs),
    permits: await takePermits(places),
    renewed: await waitForRenewal(places),
  }
}

async function takeTurns(limiter) {
  const passed = []
  const take = async (number) => (await limiter.wait('ann', { maxWait: '1m' })).allowed && passed.push(number)
  await Promise.all([1, 2, 3, 4, 5].map(take))
  return passed
}

async function givenUp(limiter) {
  await limiter.consume('ann')
  const leaving = new AbortController()
  const left = limiter.wait('ann', { signal: leaving.signal }).catch(({ message }) => message)
  leaving.abort(new Error('gone'))
  return [await left, (await limiter.wait('ann', { maxWait: '1s' })).reason]
}

async function runJobs(limiter) {
  const log = []
  const run = (number) =>
    limiter.schedule('ann', async () => {
      log.push(`${number} starts`)
      await new Promise((done) => setTimeout(done, 5))
      log.push(`${number} ends`)
    })
  await Promise.all([1, 2, 3].map(run))
  return log
}

async function takePermits(limiter) {
  const permits = []
  for (let time = 0; time < 2; time++) {
    const lease = await limiter.acquire('ann')
    permits.push(lease.allowed, (await limiter.acquire('ann')).allowed)
    await lease.release()
  }
  return permits
}

/** Holds a lease until its heartbeat lets it last longer. */
async function waitForRenewal(limiter) {
  const lease = await limiter.acquire('ann')
  let lastMs = Number.POSITIVE_INFINITY
  for (;;) {
    const { allowed, resetAfterMs } = await limiter.peek('ann')
    if (allowed || resetAfterMs > lastMs) return lease.allowed && !allowed
    lastMs = resetAfterMs
    await new Promise((done) => setTimeout(done, 5))
  }
}
