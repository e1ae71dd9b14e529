export {
  type BoardReport,
  createLiveBoard,
  type LiveBoard,
  type LiveBoardOptions,
} from './live-board.ts'
export type { LiveKey, LivePolicy, LiveReport, LiveSecond, LiveTier } from './live-report.ts'
export {
  type ShadowReport,
  type ShadowReportOptions,
  type ShadowTier,
  type ShadowWatch,
  shadowReport,
} from './shadow-report.ts'
export type { WatchedLimiter } from './watched-limiter.ts'
