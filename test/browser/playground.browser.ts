import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { PRESETS } from '../../page/playground/presets.ts'
import { formatBytes, formatShare } from '../../page/words/numbers.ts'
import { readPolicies } from '../../src/policies/read-policies.ts'
import { concurrency } from '../../src/rules/concurrency/concurrency.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../src/rules/sliding-log/sliding-log.ts'
import { slidingWindow } from '../../src/rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../../src/rules/token-bucket/token-bucket.ts'
import { listRuleVariants } from '../../src/simulate/rule-variants.ts'
import { simulate } from '../../src/simulate/simulate.ts'
import { createPrefetchSimulation } from '../../src/simulate/simulate-prefetch.ts'
import type { Result } from '../../src/simulate/simulation.ts'
import { tieredRule } from '../../src/simulate/tiered-rule.ts'
import { adversary, bursts, poisson, steady } from '../../src/simulate/traffic.ts'
import { openPages, readText } from './open-page.ts'
import { launchService, type RunningService } from './running-service.ts'

const open = openPages()
const PATIENT = { timeout: 15_000, interval: 50 }
let site: RunningService

beforeAll(async () => {
  site = await launchService()
  return () => site.stop()
})

const play = (query = ''): ReturnType<typeof open> => open(`${site.url}/#/playground${query}`)
const lane = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true })
const note = (page: Page): Promise<string> => readText(page.locator('.run-note'))

/** The numbers of a lane, as they stand on the page. */
async function readNumbers(page: Page, name: string): Promise<Record<string, string>> {
  const number = async (id: string): Promise<string> =>
    (await readText(lane(page, name).locator(`[data-number=${id}] b`))).replaceAll(',', '')
  return { admitted: await number('admitted'), refused: await number('refused'), worst: await number('worst') }
}

const numbersIn = ({ admitted, refused, worstWindow }: Result): Record<string, string> => ({
  admitted: `${admitted}`,
  refused: `${refused}`,
  worst: `${worstWindow}`,
})

const COMMON = { durationMs: 60_000, keys: 1, cost: 1, workMs: 500, seed: 1 }

describe('the numbers on the page are those of simulate() in Node', () => {
  it('at the start', async () => {
    const { page } = await play()
    await expect.poll(() => note(page), PATIENT).toContain('requests for each rule')
    const contestants = [{ name: 'token-bucket', rule: tokenBucket({ capacity: 50, refill: 10, period: 1_000 }) }]
    const [result] = simulate(contestants, bursts({ ...COMMON, burst: 60, burstMs: 1_000, pauseMs: 5_000 }))
    expect(await readNumbers(page, 'token-bucket')).toEqual(numbersIn(result as Result))
    expect(await note(page)).toBe(`${result?.requests} requests for each rule.`)
  })

  it('for many keys and costs', async () => {
    const { page } = await play(
      '?v=1&r=sliding-log~limit-30~window-5s&t=poisson~rate-200~for-30s~keys-25~cost-2~seed-7',
    )
    await expect.poll(() => note(page), PATIENT).toContain('requests for each rule')
    const contestants = [{ name: 'sliding-log', rule: slidingLog({ limit: 30, window: 5_000 }) }]
    const trace = poisson({ ...COMMON, perSecond: 200, durationMs: 30_000, keys: 25, cost: 2, seed: 7 })
    const [result] = simulate(contestants, trace)
    expect(await readNumbers(page, 'sliding-log')).toEqual(numbersIn(result as Result))
  })

  it('for work that takes time', async () => {
    const { page } = await play('?v=1&r=concurrency~limit-5~lease-30s&t=poisson~rate-40~work-200ms')
    await expect.poll(() => note(page), PATIENT).toContain('requests for each rule')
    const contestants = [{ name: 'concurrency', rule: concurrency({ limit: 5, lease: 30_000 }) }]
    const [result] = simulate(contestants, poisson({ ...COMMON, perSecond: 40, workMs: 200 }))
    expect(await readNumbers(page, 'concurrency')).toEqual(numbersIn(result as Result))
  })

  it('when the traffic and a rule are changed by hand', async () => {
    const { page } = await play('?v=1&r=fixed-window~limit-100~window-10s&t=steady')
    await page.getByRole('radio', { name: 'adversary' }).check()
    await lane(page, 'fixed-window').getByLabel('limit', { exact: true }).fill('40')
    const contestants = [{ name: 'fixed-window', rule: fixedWindow({ limit: 40, window: 10_000 }) }]
    const [result] = simulate(contestants, adversary({ ...COMMON, limit: 40, windowMs: 10_000 }))
    await expect.poll(() => readNumbers(page, 'fixed-window'), PATIENT).toEqual(numbersIn(result as Result))
    expect(result?.worstOverLimit).toBe(2)
    expect(await readText(lane(page, 'fixed-window'))).toContain('2× the limit of 40 in 10 s')
  })
})

describe('tiers', () => {
  it('are added to a rule, decided with it, carried by the link and written as code', async () => {
    const { page } = await play('?v=1&r=fixed-window~limit-30~window-20s&t=poisson~rate-5')
    const shown = lane(page, 'fixed-window')
    await shown.getByRole('button', { name: 'Add a tier' }).click()
    const tier = shown.getByRole('group', { name: 'Tier 2' })
    await tier.getByLabel('and').selectOption('token-bucket')
    await tier.getByLabel('capacity', { exact: true }).fill('7')
    await tier.getByLabel('refill', { exact: true }).fill('3')
    await tier.getByLabel('period', { exact: true }).fill('1s')
    const slow = fixedWindow({ limit: 30, window: 20_000 })
    const rule = tieredRule([slow, tokenBucket({ capacity: 7, refill: 3, period: 1_000 })])
    const [result] = simulate([{ name: 'tiers', rule }], poisson({ ...COMMON, perSecond: 5 }))
    await expect.poll(() => readNumbers(page, 'fixed-window'), PATIENT).toEqual(numbersIn(result as Result))
    expect(page.url()).toContain('r=fixed-window~limit-30~window-20s~~token-bucket~capacity-7~refill-3~period-1s&')
    expect(await readText(page.getByRole('tabpanel'))).toContain("'token-bucket': tokenBucket({ capacity: 7,")
    await shown.getByRole('button', { name: 'Remove tier 2' }).click()
    await expect.poll(() => page.url(), PATIENT).not.toContain('~~')
  })
})

describe('a preset', () => {
  it.each(PRESETS)('$name plays, and every rule is compared on its traffic', async ({ name, about, rules }) => {
    const { page } = await play()
    await page.getByRole('button', { name, exact: true }).click()
    expect(await readText(page.locator('.presets'))).toContain(about)
    expect(await page.locator('.lane').count()).toBe(rules.length)
    const table = page.getByRole('table', { name: 'Every rule' })
    await expect.poll(() => table.locator('tbody tr').count(), PATIENT).toBeGreaterThan(6)
    await expect.poll(() => page.locator('.lane [role=alert]').count(), PATIENT).toBe(0)
  })

  it('compares by the numbers of simulate()', async () => {
    const { page } = await play('?v=1&r=gcra~limit-40~period-10s&t=adversary')
    const contestants = listRuleVariants(40, 10_000).filter(({ rule }) => rule.windowMs !== undefined)
    const results = simulate(contestants, adversary({ ...COMMON, limit: 40, windowMs: 10_000 }))
    const rows = page.getByRole('table', { name: 'Every rule' }).locator('tbody tr')
    await expect.poll(() => rows.count(), PATIENT).toBe(results.length)
    const numbers = (row: string): string[] => row.replaceAll(',', '').split(/\s+/)
    for (const [index, { admitted, worstWindow, peakBytes }] of results.entries()) {
      const cells = await rows.nth(index).locator('td').allInnerTexts()
      expect(numbers(cells[0] as string)[0]).toBe(`${admitted}`)
      expect(numbers(cells[2] as string)[0]).toBe(`${worstWindow}`)
      expect(cells[3]).toBe(formatBytes(peakBytes))
    }
    const panel = page.locator('.summary', { hasText: 'Every rule at' })
    expect(await readText(panel)).toContain('Every rule at 40 per 10 seconds, on this traffic')
  })
})

describe('prefetch', () => {
  it('is played by the numbers of the simulation, in as many processes as the link says', async () => {
    const { page } = await play(
      '?v=1&r=sliding-window~limit-5000~window-10s&r=concurrency~limit-5~lease-1s&t=steady~rate-400~for-5s~processes-2',
    )
    const rule = slidingWindow({ limit: 5_000, window: 10_000 })
    const contestant = { name: 'sliding-window', rule, prefetch: { maxMs: 100, maxShare: 0.01 } }
    const simulation = createPrefetchSimulation([contestant], 2)
    simulation.offer([...steady({ ...COMMON, perSecond: 400, durationMs: 5_000 })])
    const [played] = simulation.results()
    const { calls = 0, saved = 0, callsWithout = 0, admitted } = played ?? {}
    expect(saved).toBeGreaterThan(1_000)
    const row = page.getByRole('table', { name: 'Prefetch' }).locator('tbody tr')
    await expect.poll(() => row.count(), PATIENT).toBe(1)
    const numbers = (await row.locator('td').allInnerTexts()).map((cell) => cell.replaceAll(',', ''))
    expect(numbers).toEqual([
      `${calls} of ${callsWithout}`,
      formatShare(saved, callsWithout),
      `${admitted}`,
      expect.stringMatching(/^0\s+0 %$/),
    ])
    const panel = page.locator('.summary', { hasText: 'Prefetch, in' })
    expect(await readText(panel)).toContain('Prefetch, in 2 processes on one Redis')
    expect(await readText(panel)).toContain('Not played: concurrency, which cannot prefetch.')
    await page.getByLabel('Processes', { exact: true }).fill('1')
    await expect.poll(() => readText(panel), PATIENT).toContain('Prefetch, in 1 process on one Redis')
    await expect.poll(() => page.url(), PATIENT).toContain('processes-1')
  })
})

describe('a link', () => {
  it('carries everything that was set to another user', async () => {
    const { page } = await play()
    await page.getByRole('button', { name: 'Add a rule' }).click()
    await lane(page, 'concurrency').getByLabel('lease', { exact: true }).fill('2s')
    await page.getByRole('radio', { name: 'poisson' }).check()
    await page.getByLabel('Rate', { exact: true }).fill('33')
    await page.getByRole('button', { name: 'Remove sliding-window' }).click()
    await expect.poll(() => page.url(), PATIENT).toContain('t=poisson~rate-33')
    await expect.poll(() => note(page), PATIENT).toContain('requests for each rule')
    const names = ['token-bucket', 'fixed-window', 'concurrency']
    const before = await Promise.all(names.map((name) => readNumbers(page, name)))
    expect(page.url().length).toBeLessThan(250)

    const other = await open(page.url())
    await expect.poll(() => note(other.page), PATIENT).toContain('requests for each rule')
    expect(await Promise.all(names.map((name) => readNumbers(other.page, name)))).toEqual(before)
    expect(await other.page.getByLabel('Rate', { exact: true }).inputValue()).toBe('33')
    expect(await other.page.getByRole('region', { name: 'sliding-window' }).count()).toBe(0)
  })

  it('that cannot be read gives the start, and a note', async () => {
    const { page } = await play('?v=7&r=nonsense')
    expect(await readText(page.getByRole('alert'))).toContain('it is of version 7, and this page reads version 1')
    await expect.poll(() => note(page), PATIENT).toContain('780 requests for each rule.')
  })

  it('is kept while one looks at the other view', async () => {
    const { page } = await play('?v=1&r=gcra~limit-7~period-1s&t=steady')
    await page.getByRole('link', { name: 'Live' }).click()
    await page.getByRole('link', { name: 'Playground' }).click()
    expect(await lane(page, 'gcra').getByLabel('limit', { exact: true }).inputValue()).toBe('7')
  })
})

describe('a mistake is described beside its field', () => {
  it('for a rule, while the others go on', async () => {
    const { page } = await play()
    await lane(page, 'token-bucket').getByLabel('capacity', { exact: true }).fill('0')
    const alert = lane(page, 'token-bucket').getByRole('alert')
    await expect.poll(() => readText(alert), PATIENT).toBe('capacity must be a whole number of at least 1, got 0')
    await expect.poll(() => note(page), PATIENT).toContain('requests for each rule')
    expect((await readNumbers(page, 'fixed-window')).admitted).toBe('520')
  })

  it('for the traffic', async () => {
    const { page } = await play()
    await page.getByLabel('Duration', { exact: true }).fill('soon')
    await expect
      .poll(() => readText(page.getByRole('alert')), PATIENT)
      .toBe('Duration must be a length of time such as 500ms or 1m, got "soon"')
  })

  it('for more requests than are played', async () => {
    const { page } = await play('?v=1&r=gcra~limit-7~period-1s&t=steady~rate-10000')
    await expect
      .poll(() => note(page), PATIENT)
      .toBe('100,000 requests for each rule. It stopped at 10 s: more than 100,000 are not played.')
  })
})

describe('the code to take along', () => {
  it('runs, and parses, and makes the rules that were chosen', async () => {
    const { page } = await open(`${site.url}/#/playground`, { permissions: ['clipboard-read', 'clipboard-write'] })
    await page.getByRole('button', { name: 'Copy code' }).click()
    await expect.poll(() => page.getByRole('status').allInnerTexts(), PATIENT).toContain('Copied')
    const typescript = await page.evaluate(() => navigator.clipboard.readText())
    const folder = await mkdtemp(join(tmpdir(), 'sluice-copied-'))
    const file = join(folder, 'copied.mjs')
    await writeFile(
      file,
      typescript.replace("'sluice'", JSON.stringify(new URL('../../dist/index.mjs', import.meta.url).href)),
    )
    const limiters = Object.values((await import(file)) as Record<string, { name: string; close(): Promise<void> }>)
    expect(limiters.map(({ name }) => name).sort()).toEqual(['fixed-window', 'sliding-window', 'token-bucket'])
    for (const limiter of limiters) await limiter.close()
    await rm(folder, { recursive: true })

    await page.getByRole('tab', { name: 'Policies (YAML)' }).click()
    await page.getByRole('button', { name: 'Copy code' }).click()
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText()), PATIENT).toContain('policies:')
    const policies = readPolicies(await page.evaluate(() => navigator.clipboard.readText()), 'copied.yaml')
    expect(policies.map(({ name }) => name)).toEqual(['token-bucket', 'sliding-window', 'fixed-window'])
  })

  it('is copied the old way where there is no clipboard', async () => {
    const { page } = await open(`${site.url}/#/live`, { permissions: ['clipboard-read', 'clipboard-write'] })
    await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    await page.goto(`${site.url}/?again#/playground`)
    await page.getByRole('button', { name: 'Copy link' }).click()
    await expect.poll(() => page.getByRole('status').allInnerTexts(), PATIENT).toContain('Copied')
  })
})
