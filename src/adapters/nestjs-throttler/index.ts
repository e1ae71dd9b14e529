export type { DropInOptions } from '../drop-in/drop-in-options.ts'
export { type SluiceThrottlerStorage, type ThrottlerRecord, throttlerStorage } from './throttler-storage.ts'
