// Written by `npm run scripts` from the lines of index.ts.
export * from './concurrency/concurrency.form.ts'
export * from './fixed-window/fixed-window.form.ts'
export * from './leaky-bucket/leaky-bucket.form.ts'
export * from './sliding-log/sliding-log.form.ts'
export * from './sliding-window/sliding-window.form.ts'
export * from './strict-window/strict-window.form.ts'
export * from './token-bucket/token-bucket.form.ts'
