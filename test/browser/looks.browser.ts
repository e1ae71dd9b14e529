import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { differences } from './colour-blind.ts'
import { hardToRead } from './contrast.ts'
import { missingLabels } from './labels.ts'
import { openPages, readText } from './open-page.ts'
import { launchService, type RunningService } from './running-service.ts'

const open = openPages()
const PATIENT = { timeout: 15_000, interval: 50 }
let service: RunningService

beforeAll(async () => {
  service = await launchService()
  await service.consume({ policy: 'api', key: 'user:42' }, 130)
  await service.consume({ policy: 'messages', key: { user: '1', ip: '203.0.113.7' } }, 30)
  return () => service.stop()
})

async function shown(view: string, how: Parameters<typeof open>[1]): Promise<Page> {
  const { page } = await open(`${service.url}/#/${view}`, how)
  const sign = view === 'live' ? 'user:42' : 'First rejections'
  await expect.poll(() => readText(page.locator('main')), PATIENT).toContain(sign)
  if (view === 'playground') await page.getByRole('table', { name: 'Every rule' }).waitFor()
  return page
}

const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }

async function openKey(page: Page): Promise<void> {
  await page.locator('[aria-label="Most rejected keys"]').getByRole('button', { name: 'user=1' }).click()
  await expect.poll(() => readText(page.getByRole('dialog')), PATIENT).toContain('Rejected by user')
}

/** What reaches beyond the right edge of the screen, and how wide the page is. */
function findCutOff(page: Page): Promise<{ page: number; parts: string[] }> {
  return page.evaluate(() => ({
    page: document.documentElement.scrollWidth,
    parts: [...document.querySelectorAll('main *')]
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5 && one.closest('pre, .scroll') === null)
      .map((one) => one.outerHTML.slice(0, 100)),
  }))
}

/** Controls that are too low for a finger. A radio button is as large as its label. */
function findSmallControls(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('button, a, input, select, summary')]
      .filter((one) => one.checkVisibility() && one.closest('.skip') === null)
      .map((one) => (one.matches('[type=radio]') ? (one.parentElement as Element) : one))
      .filter((one) => one.getBoundingClientRect().height < 40)
      .map((one) => one.outerHTML.slice(0, 100)),
  )
}

describe.each(['live', 'playground'])('the %s view', (view) => {
  it.each(['light', 'dark'] as const)('is readable and labelled in %s', async (colorScheme) => {
    const page = await shown(view, { colorScheme })
    for (const summary of await page.locator('summary').all()) await summary.click()
    expect(await hardToRead(page)).toEqual([])
    expect(await missingLabels(page)).toEqual([])
    expect(await page.locator('canvas').first().isVisible()).toBe(true)
  })

  it('fits a phone without scrolling sideways', async () => {
    const page = await shown(view, PHONE)
    for (const summary of await page.locator('summary').all()) await summary.click()
    expect(await findCutOff(page)).toEqual({ page: 360, parts: [] })
    expect(await findSmallControls(page)).toEqual([])
  })
})

describe('the panel of a key', () => {
  it.each(['light', 'dark'] as const)('is readable and labelled in %s', async (colorScheme) => {
    const page = await shown('live', { colorScheme })
    await openKey(page)
    expect(await hardToRead(page)).toEqual([])
    expect(await missingLabels(page)).toEqual([])
  })

  it('fits a phone', async () => {
    const page = await shown('live', PHONE)
    await openKey(page)
    expect(await findCutOff(page)).toEqual({ page: 360, parts: [] })
    expect(await findSmallControls(page)).toEqual([])
  })
})

describe('the theme', () => {
  it('follows the system, then the switch, and is kept', async () => {
    const page = await shown('live', { colorScheme: 'dark' })
    const shade = (): Promise<string | undefined> => page.evaluate(() => document.documentElement.dataset.theme)
    expect(await shade()).toBe('dark')
    await page.getByRole('button', { name: 'Theme: Auto. Switch to Light' }).click()
    expect(await shade()).toBe('light')
    await page.reload()
    expect(await shade()).toBe('light')
    await page.getByRole('button', { name: 'Theme: Light' }).click()
    await page.getByRole('button', { name: 'Theme: Dark' }).click()
    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(shade, PATIENT).toBe('light')
  })

  it.each(['light', 'dark'] as const)('shows allowed unlike refused for every eye in %s', async (colorScheme) => {
    const page = await shown('live', { colorScheme })
    const [allowed, refused] = await page.evaluate(() =>
      ['allowed-fill', 'refused'].map((name) => {
        document.body.style.color = `var(--${name})`
        return getComputedStyle(document.body).color
      }),
    )
    for (const difference of Object.values(differences(allowed as string, refused as string))) {
      expect(difference).toBeGreaterThan(25)
    }
  })
})

describe('a user with only a keyboard', () => {
  /** Goes on with the tabulator until the focus is on what is asked for, and checks that it is always seen. */
  async function tabTo(page: Page, name: RegExp): Promise<void> {
    for (let presses = 0; presses < 80; presses++) {
      await page.keyboard.press('Tab')
      const focus = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement
        const label = element.getAttribute('aria-label') ?? (element as HTMLInputElement).labels?.[0]?.textContent
        const ring = getComputedStyle(element.closest('.kinds label') ?? element)
        return { name: (label ?? element.textContent ?? '').trim(), ring: `${ring.outlineStyle} ${ring.outlineWidth}` }
      })
      expect(focus.ring, `the ring around ${focus.name}`).toBe('solid 2px')
      if (name.test(focus.name)) return
    }
    throw new Error(`the tabulator never came to ${name}`)
  }

  it('gets through the playground', async () => {
    const page = await shown('live', {})
    await tabTo(page, /^Playground$/)
    await page.keyboard.press('Enter')
    await expect.poll(() => readText(page.locator('main')), PATIENT).toContain('First rejections')
    await tabTo(page, /^bursts$/)
    await page.keyboard.press('ArrowLeft')
    expect(await page.getByRole('radio', { name: 'poisson' }).isChecked()).toBe(true)
    await tabTo(page, /^Rate, /)
    await page.keyboard.press('ArrowRight')
    expect(await page.getByLabel('Rate', { exact: true }).inputValue()).toBe('20')
    await tabTo(page, /^Play$/)
    await page.keyboard.press('Enter')
    const time = page.getByRole('slider', { name: 'Time' })
    await expect.poll(async () => Number(await time.inputValue()), PATIENT).toBeGreaterThan(1_000)
    await tabTo(page, /^Time$/)
    await page.keyboard.press('Space')
    await expect.poll(() => page.getByRole('button', { name: 'Play' }).count(), PATIENT).toBe(1)
    await page.keyboard.press('Home')
    expect(await time.getAttribute('aria-valuetext')).toBe('0 ms of 1 min')
    await expect.poll(() => readText(page.locator('.tank-words').first()), PATIENT).toMatch(/\b0 rejected so far/)
    await page.keyboard.press('End')
    const [admitted, refused] = [page.locator('[data-number=admitted] b'), page.locator('[data-number=refused] b')]
    const sums = `${await readText(admitted.first())} admitted, ${await readText(refused.first())} rejected so far`
    await expect.poll(() => readText(page.locator('.tank-words').first()), PATIENT).toContain(sums)
    await tabTo(page, /^Remove fixed-window$/)
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('region', { name: 'fixed-window' }).count(), PATIENT).toBe(0)
    await tabTo(page, /^TypeScript$/)
    await page.keyboard.press('ArrowRight')
    expect(await readText(page.getByRole('tabpanel'))).toContain('policies:')
  })

  it('can ask the service', async () => {
    const { page } = await open(`${service.url}/#token=${service.token}`)
    await expect.poll(() => readText(page.locator('main')), PATIENT).toContain('user:42')
    await tabTo(page, /^Key$/)
    await page.keyboard.type('user:77')
    await page.keyboard.press('Enter')
    await expect.poll(() => readText(page.locator('.try-answer')), PATIENT).toContain('Allowed.')
  })

  it('can skip the frame', async () => {
    const page = await shown('live', {})
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
  })
})

it('moves little where the system asks for it', async () => {
  const page = await shown('playground', { reducedMotion: 'reduce' })
  await page.evaluate(() => {
    const time = document.querySelector<HTMLInputElement>('[aria-label=Time]') as HTMLInputElement
    const values = new Set<string>()
    Object.assign(globalThis, { values })
    const look = (): void => {
      values.add(time.value)
      requestAnimationFrame(look)
    }
    look()
  })
  await page.getByRole('button', { name: 'Play' }).click()
  await page.waitForTimeout(1_000)
  const moves = await page.evaluate(() => (globalThis as unknown as { values: Set<string> }).values.size)
  expect(moves).toBeGreaterThan(2)
  expect(moves).toBeLessThan(8)
})
