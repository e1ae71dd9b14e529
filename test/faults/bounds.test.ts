import { expect, it } from 'vitest'
import { boundsOf } from '../../faults/bounds.ts'

const rule = { limit: 100, windowMs: 1_000, deadlineMs: 500 }

it.each([
  ['Redis alone', { instances: 4, processes: 0 }, [100, 0, 100, 100]],
  ['Redis alone, forgetting twice', { instances: 4, processes: 0, forgotten: 2 }, [300, 0, 300, 100]],
  ['one process that has a quarter', { instances: 4, processes: 1 }, [100, 25, 125, 100]],
  ['one process that has it all', { instances: 1, processes: 1 }, [100, 100, 200, 100]],
  ['four that each take themselves for alone', { instances: 1, processes: 4 }, [100, 400, 500, 400]],
  ['three that share it', { instances: 3, processes: 3 }, [100, 99, 199, 166]],
  ['more than there are places', { instances: 300, processes: 300 }, [100, 300, 400, 399]],
  ['two, and a server without its data', { instances: 2, processes: 2, forgotten: 1 }, [200, 100, 250, 150]],
  ['some under way', { instances: 1, processes: 1, underWay: 64 }, [100, 100, 200, 164]],
])('%s', (_, sharing, [redis, fallback, together, afterwards]) => {
  expect(boundsOf({ ...rule, ...sharing })).toMatchObject({ redis, fallback, together, afterwards })
})
