import { type FSWatcher, type Stats, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** How often to look without an event: not every file system emits one. */
const LOOK_MS = 1_000
/** A file that has just changed may change again: editors write in steps. */
const SETTLE_MS = 100

/**
 * Calls `onChange` once for every change of a file, when it has not changed for a moment: written in place, replaced by another file,
 * removed or recreated. Does not keep the process alive. Returns the function that stops it.
 */
export function watchFile(path: string, onChange: () => void): () => void {
  let seen = readStamp(path)
  let settling: NodeJS.Timeout | undefined
  const look = (): void => {
    const stamp = readStamp(path)
    if (stamp === seen) return
    seen = stamp
    clearTimeout(settling)
    settling = setTimeout(settle, SETTLE_MS).unref()
  }
  const settle = (): void => {
    const before = seen
    look()
    if (seen === before) onChange()
  }
  const looking = setInterval(look, LOOK_MS).unref()
  const watcher = watchFolder(dirname(path), look)
  return () => {
    clearInterval(looking)
    clearTimeout(settling)
    watcher?.close()
  }
}

/** Reports changes sooner. The folder, because a file that was replaced is another one. */
function watchFolder(folder: string, onChange: () => void): FSWatcher | undefined {
  try {
    // It may fail later too; looking goes on.
    return watch(folder, { persistent: false }, onChange).on('error', onChange)
  } catch {
    return undefined
  }
}

function readStamp(path: string): string {
  const stats: Stats | undefined = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? 'absent' : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`
}
