const realNow = Date.now
const realImmediate = setImmediate
/** What the wall clock said last: it is read right before a grant is spent. */
let readMs
/** When what runs now was put off to the next turn of the event loop. */
let putOffMs

/** Has to be called before the package is loaded. */
export function watchClock() {
  Date.now = () => {
    readMs = realNow()
    return readMs
  }
  globalThis.setImmediate = (run, ...args) => {
    const atMs = realNow()
    return realImmediate(() => {
      putOffMs = atMs
      run(...args)
      putOffMs = undefined
    })
  }
}

/**
 * The same store, which notes when each admission was made, by the server's clock. That is the machine's: what a server decided is dated by
 * it, and what this process decided by the time that it read when it did. Where only the turn of the event loop is known, both ends of that are noted.
 */
export function datedStore(store, scripts, note) {
  const noteAll = ([result], dates) => {
    if (result.allowed) note(result.decidedBy ?? 'redis', ...dates)
  }
  const layers = (_, options) => {
    const layered = store.layers(store, options)
    return {
      ...layered,
      get health() {
        return layered.health
      },
      decide(call, reply) {
        if (call.operations[0].type !== 'consume') return layered.decide(call, reply)
        const count = scripts.count()
        let askedMs
        const done = (results) => {
          noteAll(results, datesOf(results[0], askedMs, count))
          reply.done(results)
        }
        const results = layered.decide(call, { done, failed: (error) => reply.failed(error) })
        askedMs = readMs
        if (results !== undefined) noteAll(results, [askedMs, askedMs])
        return results
      },
    }
  }
  const datesOf = ({ decidedBy }, askedMs, count) => {
    // The server has decided it, and its reply is what runs now.
    if (decidedBy === undefined) return scripts.current()
    const nowMs = realNow()
    if (decidedBy !== 'prefetch') return [nowMs, nowMs]
    // It has waited for a grant that has come now.
    if (scripts.current() !== undefined) return [readMs, readMs]
    // It had its answer at once, and was put off; or it has waited for a grant, and was put off when that had come.
    if (scripts.count() === count) return [askedMs, askedMs]
    return [Math.max(askedMs, putOffMs), nowMs]
  }
  return { ...store, layers }
}
