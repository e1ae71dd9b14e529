import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { findChromium } from '../../scripts/install-chromium.mjs'

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A page, and everything that should not have happened on it. */
export interface OpenedPage {
  readonly page: Page
  /** Errors of the program, what the console complains of, and what the security policy stopped. */
  readonly complaints: string[]
  /** All that was asked for over the network. */
  readonly requests: string[]
}

interface Expectations {
  /** A page whose service goes away sees failed requests: nothing else may be complained of. */
  readonly mayLoseService?: boolean
}

/**
 * Opens pages in one browser for the file. After every test each page must be free of complaints, and must have asked no server but
 * its own service.
 */
export function openPages(): (url: string, how?: BrowserContextOptions & Expectations) => Promise<OpenedPage> {
  let browser: Browser
  const opened: (OpenedPage & Expectations & { origin: string })[] = []

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findChromium() as string, args: ARGS })
  })
  afterAll(() => browser.close())
  afterEach(async () => {
    for (const { page, complaints, requests, origin, mayLoseService } of opened.splice(0)) {
      complaints.push(...(await page.evaluate(() => (globalThis as { violations?: string[] }).violations ?? [])))
      await page.context().close()
      expect(complaints.filter((text) => !(mayLoseService === true && isLostService(text)))).toEqual([])
      expect(requests.filter((url) => new URL(url).origin !== origin)).toEqual([])
    }
  })

  return async (url, { mayLoseService = false, ...how } = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...how })
    const page = await context.newPage()
    const complaints: string[] = []
    const requests: string[] = []
    context.on('request', (request) => requests.push(request.url()))
    page.on('pageerror', (error) => complaints.push(`${error.stack}`))
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    await page.addInitScript(() => {
      const violations: string[] = []
      Object.assign(globalThis, { violations })
      addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
        violations.push(`${violatedDirective} stopped ${blockedURI}`)
      })
    })
    opened.push({ page, complaints, requests, origin: new URL(url).origin, mayLoseService })
    await page.goto(url)
    return { page, complaints, requests }
  }
}

/** What people see of an element: hidden text is not among it. */
export function readText(locator: Locator): Promise<string> {
  // biome-ignore lint/performance/useDomNodeTextContent: what is rendered is what is tested
  return locator.innerText()
}

function isLostService(text: string): boolean {
  return /Failed to load resource: .*(net::ERR_(CONNECTION|SOCKET)_\w+|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|status of 401)/.test(
    text,
  )
}
