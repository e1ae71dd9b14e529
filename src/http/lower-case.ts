const known = new Map<string, string>()

/** The name of a header field in lower case, as frameworks keep it. There are few: each is made once, and found faster as a property then. */
export function lowerCase(name: string): string {
  let lower = known.get(name)
  if (lower === undefined) {
    lower = name.toLowerCase()
    known.set(name, lower)
  }
  return lower
}
