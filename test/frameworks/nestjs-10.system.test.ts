import { testBesideNest } from './previous-nestjs.ts'

await testBesideNest(10, [10])
