/** What became of the units that a limit's grants brought to this process, beside the requests that asked. */
export interface GrantCounts {
  /** Requests to the store that asked for a grant. */
  calls: number
  /** Units that came. */
  granted: number
  /** Units that went back in time. */
  returned: number
  /** Units that came too late to be spent, or went back too late: they count as spent. */
  late: number
}
