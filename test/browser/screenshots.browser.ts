import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { openPages, readText } from './open-page.ts'
import { picturedService } from './pictured-service.ts'

const folder = process.env.SLUICE_SCREENSHOTS as string

/** Pictures of the page for people, `SLUICE_SCREENSHOTS=folder npm run test:browser`. Two of them are in docs/pictures. */
describe('a picture', () => {
  const open = openPages()
  let service: Awaited<ReturnType<typeof picturedService>>

  beforeAll(async () => {
    await mkdir(folder, { recursive: true })
    service = await picturedService()
    return () => service.stop()
  }, 120_000)

  describe.each(['live', 'playground'])('of the %s view', (view) => {
    it.each([
      ['light', 1280],
      ['dark', 1280],
      ['light', 360],
      ['dark', 360],
    ] as const)('in %s, %d wide', async (colorScheme, width) => {
      const isPhone = width < 400
      const { page } = await open(`${service.url}/#/${view}`, {
        colorScheme,
        viewport: { width, height: 800 },
        ...(isPhone ? { isMobile: true, hasTouch: true, deviceScaleFactor: 2 } : {}),
      })
      const sign = view === 'live' ? 'user:42' : '≈'
      await expect.poll(() => readText(page.locator('main')), { timeout: 15_000 }).toContain(sign)
      if (view === 'playground') await page.getByRole('slider', { name: 'Time' }).fill('41000')
      await page.evaluate(() => (document.activeElement as HTMLElement).blur())
      const picture = await page.screenshot({ fullPage: !isPhone })
      const name = `${view}-${colorScheme}${isPhone ? '-phone' : ''}.webp`
      await writeFile(join(folder, name), await webp(page, picture))
    })
  })
})

/** The same picture in a tenth of the bytes. The browser itself knows how. */
async function webp(page: Page, png: Buffer): Promise<Buffer> {
  const encoded = await page.evaluate(async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes]))
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
    canvas.getContext('2d')?.drawImage(bitmap, 0, 0)
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.8 })
    const packed = new Uint8Array(await blob.arrayBuffer())
    return btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''))
  }, png.toString('base64'))
  return Buffer.from(encoded, 'base64')
}
