/**
 * The limit and the debt of one of several instances: whole numbers of which all together add up to no more, but every limit is at least 1.
 * With its limit, one goes no further into debt than its part of both together.
 */
export function shareLimit(
  { limit, maxDebt }: { readonly limit: number; readonly maxDebt: number },
  instances: number,
): { readonly limit: number; readonly maxDebt: number } {
  const part = Math.max(1, Math.floor(limit / instances))
  return { limit: part, maxDebt: Math.max(0, Math.floor((maxDebt + limit) / instances) - part) }
}
