/** What is made of each of some named things, by the same names. */
export function mapped<Name extends string, Given, Made>(
  given: Readonly<Record<Name, Given>>,
  make: (name: Name, one: Given) => Made,
): Record<Name, Made> {
  const made = Object.entries<Given>(given).map(([name, one]) => [name, make(name as Name, one)])
  return Object.fromEntries(made)
}
