/**
 * What the server has said, or `undefined` when `message` is GLIDE's own. GLIDE spells `NOSCRIPT No matching script` as
 * `An error was signalled by the server: - NoScriptError: No matching script`, and codes that it does not know as `OOM: …`.
 */
export function serverWords(message: string): string | undefined {
  const [, kind, code = findCode(kind), words] = SPELLING.exec(message) ?? CONNECTING.exec(message) ?? []
  return words === undefined ? undefined : `${code} ${words}`
}

function findCode(kind = ''): string {
  return RENAMED[kind] ?? kind.replace(/Error$/, '').toUpperCase()
}

// What a server has said when GLIDE was about to connect, among GLIDE's own words.
const CONNECTING =
  /^(?:Standalone connect failed|Failed to create initial connections) - ().*?(?:`: |: `)([A-Z]+): ([^`\n]+)/s

const SPELLING = /^(?:An error was signalled by the server: - (\w+)|([A-Z]+)): (.*)$/s

const RENAMED: Readonly<Record<string, string>> = {
  ResponseError: 'ERR',
  BusyLoadingError: 'LOADING',
  PermissionDenied: 'NOPERM',
}
