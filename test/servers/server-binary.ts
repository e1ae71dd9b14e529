import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A server program on this machine. */
export interface ServerBinary {
  readonly path: string
  /** What it needs in its environment beyond ours, such as where its libraries are. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Why the server cannot be used, or `undefined` when it can; with `major`, one of another major version cannot.
 * Only running it tells: a program built for a newer C library exists and is executable all the same.
 */
export async function whyUnusable(server: ServerBinary, major?: number): Promise<string | undefined> {
  try {
    const version = await versionOf(server)
    const isWanted = major === undefined || version.startsWith(`${major}.`)
    return isWanted ? undefined : `its version is ${version}, not ${major}`
  } catch (error) {
    const { code, signal } = error as { code?: string | number | null; signal?: string | null }
    if (signal) return `--version was ended by ${signal}`
    return typeof code === 'number' ? `--version exited with ${code}` : `--version failed with ${code}`
  }
}

/** What the server calls its version, such as `8.1.1`; `unknown` when it does not say. Rejects when it does not run. */
export async function versionOf(server: ServerBinary): Promise<string> {
  const { stdout } = await promisify(execFile)(server.path, ['--version'], {
    env: { ...process.env, ...server.env },
    timeout: LONGEST_VERSION_MS,
    killSignal: 'SIGKILL',
  })
  return /\bv=(\S+)/.exec(stdout)?.[1] ?? 'unknown'
}

const LONGEST_VERSION_MS = 10_000
