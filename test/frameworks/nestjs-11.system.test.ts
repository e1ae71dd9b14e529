import { testBesideNest } from './previous-nestjs.ts'

await testBesideNest(11, [11, 12])
