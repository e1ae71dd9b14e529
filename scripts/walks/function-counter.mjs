import { Session } from 'node:inspector'

const SRC = new URL('../../src/', import.meta.url).href

/**
 * Counts calls of functions under src/ from now on. `take` lists the functions that ran since the last `take`: file, name, offset in
 * the compiled file, and calls. V8 optimizes no function meanwhile, so it misses no call.
 */
export function startCounter() {
  const session = new Session()
  session.connect()
  post(session, 'Profiler.enable')
  post(session, 'Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return {
    take: () => post(session, 'Profiler.takePreciseCoverage').result.flatMap(functionsOf),
    stop: () => session.disconnect(),
  }
}

/** V8 asks this thread, and answers before `post` returns. */
function post(session, method, params) {
  let answer
  session.post(method, params, (error, result) => {
    if (error) throw new Error(`${method}: ${error.message}`)
    answer = result
  })
  return answer
}

function functionsOf({ url, functions }) {
  if (!url.startsWith(SRC)) return []
  const file = `src/${url.slice(SRC.length)}`
  return functions
    .map(({ functionName: name, ranges: [range] }) => ({ file, name, offset: range.startOffset, calls: range.count }))
    .filter((each) => each.calls > 0 && !isModule(each) && each.name !== FIELDS)
}

/** What V8 calls the fields of a class that a constructor sets up. A reader finds no function there. */
const FIELDS = '<instance_members_initializer>'

/** Whether it is the file itself, which runs once when it loads. */
function isModule({ name, offset }) {
  return name === '' && offset === 0
}
