import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Files that wait for a minute, mostly for servers that were killed. Begun last, they would run alone at the end.
const SLOWEST = [
  'test/faults/restarts',
  'test/faults/silence',
  'test/faults/failovers',
  'test/faults/failing',
  'test/faults/prefetch',
  'test/packaging/packaging',
  'test/redis/denied',
  'test/packaging/node10',
  'test/redis/atomic',
  'test/redis/withdrawn',
  'test/docs-code',
  'test/redis/nothing-lingers',
  'test/service/redis',
  'test/redis/resharding.clients',
]

/** Begins with the files that take longest; Vitest knows them only where it has run before. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const slowest = SLOWEST.flatMap((start) => sorted.filter(({ moduleId }) => moduleId.includes(`/${start}.`)))
    return [...slowest, ...sorted.filter((file) => !slowest.includes(file))]
  }
}
