/** One part of `whole` for each of so many: whole numbers that add up to no more, but nobody gets less than 1. */
export function part(whole: number, instances: number): number {
  return Math.max(1, Math.floor(whole / instances))
}

/** How far one of so many may go beyond its part of `limit`: with its part, no further than its part of both together. */
export function partOfDebt(maxDebt: number, limit: number, instances: number): number {
  return Math.max(0, Math.floor((maxDebt + limit) / instances) - part(limit, instances))
}
