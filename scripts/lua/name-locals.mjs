const LIBRARY =
  /\b(?:redis\.call|math\.(?:max|min|floor|ceil|tointeger)|struct\.(?:pack|unpack)|string\.sub|tonumber)\b/g

/** The same text with what it calls as locals: to find `max` in `math`, and that among the globals, takes as long as the call. */
export function nameLocals(text) {
  const found = [...new Set(text.match(LIBRARY))].sort()
  const local = (name) => (name === 'redis.call' ? 'call' : name.replace('.', '_'))
  return [
    `local KEYS, ARGV, EXACT, ${found.map(local).join(', ')} = KEYS, ARGV, 9007199254740991, ${found.join(', ')}`,
    text.replaceAll(LIBRARY, local),
  ].join('\n')
}
