// Written by `npm run scripts` from the lines of index.ts.
export * from './concurrency/concurrency.examples.ts'
export * from './fixed-window/fixed-window.examples.ts'
export * from './leaky-bucket/leaky-bucket.examples.ts'
export * from './sliding-log/sliding-log.examples.ts'
export * from './sliding-window/sliding-window.examples.ts'
export * from './strict-window/strict-window.examples.ts'
export * from './token-bucket/token-bucket.examples.ts'
