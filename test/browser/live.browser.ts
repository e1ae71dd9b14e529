import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startServer } from '../servers/start-server.ts'
import { openPages, readText } from './open-page.ts'
import { startProxy } from './proxy.ts'
import { startService, TOKEN } from './running-service.ts'

/** The units that the grants of a key of the policy `hot` have, as `sluice inspect` says. */
async function inspectKey({ host, port }: { host: string; port: number }, key: string): Promise<number> {
  const rule = ['--name', 'hot', '--rule', 'sliding-window limit=1000000 window=1m']
  const program = ['dist/cli/sluice.mjs', 'inspect', key, ...rule, '--redis', `redis://${host}:${port}`, '--json']
  const { stdout } = await promisify(execFile)(process.execPath, program)
  const { inspections } = JSON.parse(stdout) as {
    inspections: [{ limits: [{ stored: { grants: { amount: number }[] } }] }]
  }
  return inspections[0].limits[0].stored.grants.reduce((sum, { amount }) => sum + amount, 0)
}

const open = openPages()
const PATIENT = { timeout: 15_000, interval: 100 }

const cells = (page: Page, table: string, row: string): Promise<string[]> =>
  page.locator(`${table} tr`).filter({ hasText: row }).first().locator('td').allInnerTexts()
const connection = (page: Page): Promise<string> => readText(page.locator('.connection'))

describe('the live view', () => {
  it('shows what was really decided, to the last request', async () => {
    const service = await startService()
    const { page } = await open(`${service.url}/`)
    const decisions = await service.consume({ policy: 'api', key: 'user:42' }, 130)
    await service.consume({ policy: 'api', key: 'user:7', cost: 3 }, 2)
    await service.consume({ policy: 'messages', key: { user: '1', ip: '203.0.113.7' } }, 8)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)

    await expect.poll(() => cells(page, '.policies', 'api'), PATIENT).toEqual(['102', '30', expect.any(String)])
    const messages = async () => (await cells(page, '.policies', 'messages')).slice(0, 2)
    await expect.poll(messages, PATIENT).toEqual(['8', '0'])
    await expect.poll(() => readText(page.locator('.policies')), PATIENT).toContain('would have rejected 3')
    await expect.poll(() => cells(page, '[aria-label="Busiest keys"]', 'user:42'), PATIENT).toEqual(['100', '30'])
    expect(await cells(page, '[aria-label="Busiest keys"]', 'user:7')).toEqual(['2', '0'])
    expect(await cells(page, '[aria-label="Most rejected keys"]', 'user:42')).toEqual(['0', '30'])
    expect(await readText(page.locator('[aria-label="Busiest keys"]'))).toContain('user=1, ip=203.0.113.7')

    // The seconds of the chart, as its table tells them.
    await page.getByText('Show as a table, by minute').click()
    const minute = () => page.locator('.wide details tbody tr').first().locator('td').allInnerTexts()
    await expect.poll(minute, PATIENT).toEqual(['110', '30', expect.stringMatching(/ms$/)])
    await page.getByLabel('Show').selectOption({ label: 'messages › user' })
    await expect.poll(minute, PATIENT).toEqual(['8', '0', expect.any(String)])
    await page.getByRole('button', { name: 'api' }).click()
    await expect.poll(minute, PATIENT).toEqual(['102', '30', expect.any(String)])
    expect(await page.getByRole('img', { name: /Requests per second/ }).getAttribute('aria-label')).toContain('api')
  })

  it('asks a question and reports the decision in words', async () => {
    const service = await startService({ env: { SLUICE_TOKEN: '' } })
    expect(service.token).not.toBe(TOKEN)
    const { page } = await open(`${service.url}/#token=${service.token}`)
    const panel = page.locator('section', { hasText: 'Try it' })
    await panel.getByLabel('Key', { exact: true }).fill('user:9')
    await panel.getByLabel('Cost').fill('99')
    await panel.getByRole('button', { name: 'Consume' }).click()
    await expect.poll(() => readText(panel), PATIENT).toMatch(/Allowed\. 1 of 100 remains; all of it is back in/)
    await panel.getByRole('button', { name: 'Consume' }).click()
    await expect.poll(() => readText(panel), PATIENT).toMatch(/Rejected by api: only 1 of 100 is left\. Try again in/)
    // The token is out of the address, so that it is not shared by mistake.
    expect(new URL(page.url()).hash).toBe('#/live')
    await panel.getByLabel('Policy').selectOption('messages')
    await panel.getByLabel('Key of user').fill('9')
    await panel.getByLabel('Key of ip').fill('203.0.113.7')
    await panel.getByLabel('Cost').fill('6')
    await panel.getByRole('button', { name: 'Consume' }).click()
    await expect.poll(() => readText(panel), PATIENT).toContain('In shadow mode ip would have rejected it.')
  })

  it('opens a key: what is stored, why it was refused, and reset and block with the token', async () => {
    const service = await startService()
    const { page } = await open(`${service.url}/`, { mayLoseService: true })
    await service.consume({ policy: 'api', key: 'a b~{c}' }, 103)
    await page.locator('[aria-label="Most rejected keys"]').getByRole('button', { name: 'a%20b%7E%7Bc%7D' }).click()
    const dialog = page.getByRole('dialog')
    await expect.poll(() => readText(dialog), PATIENT).toMatch(/Rejected by api: nothing is left of 100\. Try again in/)
    expect(await dialog.locator('tbody td').allInnerTexts()).toEqual(['100', '0', expect.stringMatching(/ (h|min)/)])
    expect(await readText(dialog)).toContain('api 100 per hour')
    expect(await dialog.locator('.refusals-of-key li').count()).toBe(3)

    await dialog.getByRole('button', { name: 'Reset' }).click()
    await expect.poll(() => readText(dialog), PATIENT).toContain('The service asks for its token.')
    await dialog.getByLabel('Token').fill(TOKEN)
    await dialog.getByRole('button', { name: 'Unlock' }).click()
    await dialog.getByRole('button', { name: 'Reset' }).click()
    await expect.poll(() => dialog.locator('tbody td').allInnerTexts(), PATIENT).toEqual(['0', '100', 'untouched'])
    expect(await readText(dialog)).toContain('The next request passes.')

    await dialog.getByLabel('Block for').fill('10m')
    await dialog.getByRole('button', { name: 'Block', exact: true }).click()
    await expect
      .poll(() => readText(dialog), PATIENT)
      .toMatch(/Rejected by api: the key is blocked\. Try again in (10|9) min/)
    expect(await service.consume({ policy: 'api', key: 'a b~{c}' })).toMatchObject([{ reason: 'blocked' }])
    await dialog.getByRole('button', { name: 'Unblock' }).click()
    await expect.poll(() => readText(dialog), PATIENT).toContain('The next request passes.')
    await page.keyboard.press('Escape')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('opens any key of a policy of tiers from the form', async () => {
    const service = await startService()
    await service.consume({ policy: 'messages', key: { user: '9', ip: '203.0.113.7' } }, 21)
    const { page } = await open(`${service.url}/`)
    const panel = page.locator('section', { hasText: 'Try it' })
    await panel.getByLabel('Policy').selectOption('messages')
    await panel.getByLabel('Key of user').fill('9')
    await panel.getByLabel('Key of ip').fill('203.0.113.7')
    await panel.getByRole('button', { name: 'Look at the key' }).click()
    const rows = page.getByRole('dialog').locator('tbody tr')
    await expect.poll(() => rows.count(), PATIENT).toBe(2)
    expect(await rows.nth(0).locator('td').allInnerTexts()).toEqual(['20', '0', expect.any(String)])
    expect(await readText(page.getByRole('dialog').locator('.refusals-of-key'))).toContain('Rejected by user')
  })

  it('starts its time lines with the service, and says limits with their windows', async () => {
    const service = await startService()
    const { page } = await open(`${service.url}/`)
    const policies = page.locator('.policies')
    await expect.poll(() => readText(policies), PATIENT).toContain('sliding-window, 100 per hour')
    expect(await readText(policies)).toContain('token-bucket, 1 per hour, 5 at once')
    const words = await page.getByRole('img', { name: /Requests per second/ }).getAttribute('aria-label')
    expect(words).toMatch(/over the last \d+(\.\d)? s,/)
    expect(await readText(page.locator('main'))).not.toMatch(/for 0 ms/)
  })

  it('is empty in words before anything has happened', async () => {
    const service = await startService()
    const { page } = await open(`${service.url}/`)
    await expect.poll(() => readText(page.locator('main')), PATIENT).toContain('No requests in this time.')
    expect(await readText(page.locator('main'))).toContain('No outage since the service started.')
  })
})

describe('prefetch', () => {
  it('is shown: which policies have it, what it decided, and what is out of a key', async () => {
    const redis = await startServer()
    onTestFinished(() => redis.stop())
    const service = await startService({
      args: ['--port', '0', '--redis', `redis://${redis.host}:${redis.port}`],
      policies: `policies:
  hot: { rule: sliding-window, limit: 1000000, window: 1m, prefetch: { maxTime: 10s } }
  cold: { rule: fixed-window, limit: 100, window: 1h }
`,
    })
    const { page } = await open(`${service.url}/`)
    // It stays hot until the page has shown a grant, however long that takes.
    const asking = setInterval(() => void service.consume({ policy: 'hot', key: 'tenant:7' }, 100).catch(() => {}), 300)
    onTestFinished(() => clearInterval(asking))
    await service.consume({ policy: 'cold', key: 'tenant:7' }, 1)
    const store = page.locator('section', { hasText: 'Decided by' })
    await expect.poll(() => readText(store), PATIENT).toMatch(/Prefetch [\d,]+ +\d/)
    const row = (name: string) => page.locator('.policies tr').filter({ hasText: name }).first()
    expect(await readText(row('hot'))).toContain('prefetch')
    expect(await readText(row('cold'))).not.toContain('prefetch')

    await page.locator('[aria-label="Busiest keys"] tr', { hasText: 'hot' }).getByRole('button').click()
    const dialog = page.getByRole('dialog')
    const out = dialog.locator('.prefetched')
    await expect.poll(() => readText(out), PATIENT).toMatch(/^hot\s+[\d,]+ out in 1 grant\. It ends in [\d.]+ m?s\.$/)
    // The page shows what Redis has.
    const isThere = async (): Promise<boolean> => {
      const [units] = /[\d,]+(?= out)/.exec(await readText(out)) ?? []
      return units?.replaceAll(',', '') === `${await inspectKey(redis, 'tenant:7')}`
    }
    await expect.poll(isThere, PATIENT).toBe(true)
    clearInterval(asking)
    await expect.poll(() => readText(out), { timeout: 20_000, interval: 200 }).toContain('Nothing is out')
    await page.keyboard.press('Escape')
    await page.locator('[aria-label="Busiest keys"] tr', { hasText: 'cold' }).getByRole('button').click()
    await expect.poll(() => readText(dialog), PATIENT).toContain('The next request passes.')
    expect(await out.count()).toBe(0)
  })
})

describe('the token', () => {
  it('is asked for when the form needs it, and again when it is wrong', async () => {
    const service = await startService()
    const { page } = await open(`${service.url}/`, { mayLoseService: true })
    const panel = page.locator('section', { hasText: 'Try it' })
    await panel.getByLabel('Key', { exact: true }).fill('user:9')
    await panel.getByRole('button', { name: 'Consume' }).click()
    await expect.poll(() => readText(panel), PATIENT).toContain('The service asks for its token.')
    await panel.getByLabel('Token').fill('wrong')
    await panel.getByRole('button', { name: 'Unlock' }).click()
    await panel.getByRole('button', { name: 'Consume' }).click()
    await expect.poll(() => readText(panel), PATIENT).toContain('The service did not accept this token.')
    await panel.getByLabel('Token').fill(TOKEN)
    await panel.getByRole('button', { name: 'Unlock' }).click()
    await panel.getByRole('button', { name: 'Consume' }).click()
    await expect.poll(() => readText(panel), PATIENT).toContain('Allowed.')
    // Kept for this tab.
    await page.reload()
    await page.locator('section', { hasText: 'Try it' }).getByLabel('Key', { exact: true }).fill('user:10')
    await page.getByRole('button', { name: 'Consume' }).click()
    await expect.poll(() => readText(panel), PATIENT).toContain('Allowed.')
  })

  const opensTheView = async (url: string) => {
    const { page } = await open(`${url}/`, { mayLoseService: true })
    await expect.poll(() => connection(page), PATIENT).toBe('Locked')
    expect(await readText(page.getByRole('alert'))).toContain(
      'The service asks for its token. Other machines can reach this service, directly or through a proxy. It shows keys and policies only with the token.',
    )
    expect(await page.getByRole('heading', { name: 'Policies' }).count()).toBe(0)
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Unlock' }).click()
    await expect.poll(() => readText(page.getByRole('alert')), PATIENT).toContain('did not accept')
    await page.getByLabel('Token').fill(TOKEN)
    await page.getByRole('button', { name: 'Unlock' }).click()
    await expect.poll(() => connection(page), PATIENT).toBe('Connected')
    expect(await page.getByRole('heading', { name: 'Policies' }).isVisible()).toBe(true)
  }

  it('opens the whole view where the service listens beyond this machine', async () => {
    const { url } = await startService({ args: ['--port', '0', '--host', '0.0.0.0'] })
    await opensTheView(url)
  })

  it('opens the whole view behind a proxy on this machine', async () => {
    const { port } = await startService()
    await opensTheView(await startProxy(port))
  })
})

describe('when something does not answer', () => {
  it('the page says so, keeps what it knows, and comes back without a reload', async () => {
    const service = await startService()
    const { page } = await open(`${service.url}/`, { mayLoseService: true })
    await service.consume({ policy: 'api', key: 'user:1' }, 5)
    await expect.poll(() => cells(page, '.policies', 'api'), PATIENT).toEqual(['5', '0', '0'])
    await service.stop()
    await expect.poll(() => connection(page), PATIENT).toContain('The service does not answer.')
    expect(await cells(page, '.policies', 'api')).toEqual(['5', '0', '0'])
    await startService({ args: ['--port', `${service.port}`] })
    await expect.poll(() => connection(page), PATIENT).toBe('Connected')
    expect(await cells(page, '.policies', 'api')).toEqual(['0', '0', '0'])
  })

  it('a page that never had a service says how to start one', async () => {
    const service = await startService()
    const { page } = await open(`${service.url}/#/playground`, { mayLoseService: true })
    await service.stop()
    await page.getByRole('link', { name: 'Live' }).click()
    await expect.poll(() => readText(page.locator('main')), PATIENT).toContain('No service answers here.')
  })

  it('an outage of the store is shown, marked on the time lines, and kept', async () => {
    const redis = await startServer()
    onTestFinished(() => redis.stop())
    const service = await startService({
      args: ['--port', '0', '--redis', `redis://${redis.host}:${redis.port}`],
      policies: 'policies:\n  api: { rule: fixed-window, limit: 100, window: 1h }\n',
    })
    const { page } = await open(`${service.url}/`)
    await service.consume({ policy: 'api', key: 'user:1' }, 3)
    const store = page.locator('section', { hasText: 'Decided by' })
    await expect.poll(() => readText(store), PATIENT).toContain('Healthy')
    expect(await readText(store)).toContain(`${redis.host}:${redis.port}`)
    await redis.stop()
    const asking = setInterval(() => void service.consume({ policy: 'api', key: 'user:1' }, 5).catch(() => {}), 100)
    onTestFinished(() => clearInterval(asking))
    await expect.poll(() => readText(store), PATIENT).toContain('Degraded for')
    expect(await readText(page.locator('.tiles'))).toContain('Degraded')
    expect(await readText(store)).toMatch(/degraded periods?, marked on the time lines/)
    await expect.poll(() => readText(store), PATIENT).toMatch(/Fallback, without the store \d+/)
    await expect.poll(() => readText(page.locator('.wide .legend')), PATIENT).toContain('Store degraded')
  })
})
