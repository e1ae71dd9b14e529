export type { ShadowReport, ShadowTier } from './format-shadow-report.ts'
export {
  type BoardReport,
  createLiveBoard,
  type LiveBoard,
  type LiveBoardOptions,
} from './live-board.ts'
export type { LiveKey, LivePolicy, LiveReport, LiveSecond, LiveTier } from './live-report.ts'
export {
  type ShadowReportOptions,
  type ShadowWatch,
  shadowReport,
} from './shadow-report.ts'
export type { WatchedLimiter } from './watched-limiter.ts'
