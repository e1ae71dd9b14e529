import engines from './engines.json' with { type: 'json' }

/** A kind of server that the tests can run on. */
export interface Engine {
  /** What the program is called, and the package that has it. */
  readonly program: string
  /** The packages to fetch. @default the one that is called as the program */
  readonly packages?: readonly string[]
  /** The only major version that will do. @default any */
  readonly major?: number
  /** The Debian suite that has the package. @default the machine's own */
  readonly suite?: string
}

/** The engine that `SLUICE_ENGINE` names, or `undefined` when any will do. A name that is not in engines.json throws. */
export function chosenEngine(env: NodeJS.ProcessEnv): Engine | undefined {
  const name = env.SLUICE_ENGINE
  if (name === undefined) return undefined
  const engine = new Map<string, Engine>(Object.entries(engines)).get(name)
  if (engine !== undefined) return engine
  throw new Error(`SLUICE_ENGINE must be one of ${Object.keys(engines).join(', ')}, got ${JSON.stringify(name)}`)
}
