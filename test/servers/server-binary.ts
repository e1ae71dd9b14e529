import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A server program on this machine. */
export interface ServerBinary {
  readonly path: string
  /** What it needs in its environment beyond ours, such as where its libraries are. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Why the server cannot be used, or `undefined` when it can.
 * Only running it tells: a program built for a newer C library exists and is executable all the same.
 */
export async function whyUnusable(server: ServerBinary): Promise<string | undefined> {
  try {
    await promisify(execFile)(server.path, ['--version'], {
      env: { ...process.env, ...server.env },
      timeout: LONGEST_VERSION_MS,
    })
    return undefined
  } catch (error) {
    const { code, signal } = error as { code?: string | number | null; signal?: string | null }
    if (signal) return `--version was ended by ${signal}`
    return typeof code === 'number' ? `--version exited with ${code}` : `--version failed with ${code}`
  }
}

const LONGEST_VERSION_MS = 10_000
