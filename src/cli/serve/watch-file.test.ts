import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { watchFile } from './watch-file.ts'

const stage = async (name = 'limits.yaml') => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-watch-'))
  const file = join(folder, name)
  let changes = 0
  const watching = () => {
    const stop = watchFile(file, () => changes++)
    onTestFinished(async () => {
      stop()
      await rm(folder, { recursive: true, force: true })
    })
    return stop
  }
  return { folder, file, watching, changes: () => changes }
}

it('reports a file that was written, replaced, removed and created again', async () => {
  const { file, watching, changes } = await stage()
  await writeFile(file, '1')
  watching()
  // Written in place, a file is empty for a moment: on a busy machine that may be a change of its own.
  const expectTold = async (change: () => Promise<unknown>): Promise<void> => {
    const before = changes()
    await change()
    await expect.poll(changes, { timeout: 30_000 }).toBeGreaterThan(before)
  }
  await expectTold(() => writeFile(file, '22'))
  await writeFile(`${file}.new`, '22')
  await expectTold(() => rename(`${file}.new`, file))
  await expectTold(() => rm(file))
  await expectTold(() => writeFile(file, '22'))
})

it('reports once what was written in steps', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { file, watching, changes } = await stage()
  await writeFile(file, '')
  watching()
  for (let step = 1; step <= 10; step++) {
    await writeFile(file, 'x'.repeat(step))
    vi.advanceTimersByTime(60)
  }
  expect(changes()).toBe(0)
  vi.advanceTimersByTime(5_000)
  expect(changes()).toBe(1)
})

it('finds a change in a folder that does not exist yet, of which the system reports nothing', async () => {
  const { folder, watching, changes } = await stage(join('later', 'limits.yaml'))
  watching()
  await mkdir(join(folder, 'later'))
  await writeFile(join(folder, 'later', 'limits.yaml'), '1')
  await expect.poll(changes, { timeout: 30_000 }).toBe(1)
})

it('says nothing of other files, and nothing after it was stopped', async () => {
  const { file, watching, changes } = await stage()
  await writeFile(file, '1')
  const stop = watching()
  await writeFile(`${file}.bak`, '1')
  await delay(300)
  stop()
  await utimes(file, 1, 1)
  await delay(300)
  expect(changes()).toBe(0)
})
