/** Whether `value` is an object on which all of `names` can be called. A class is none: its own methods are not its instances'. */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
}
