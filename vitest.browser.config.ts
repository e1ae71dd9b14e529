import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { luaScripts } from './scripts/lua/plugin.mjs'
import { ClosingLine } from './test/closing-line.ts'

// The page in a real browser, against the built service: `npm run test:browser`.
const config: ViteUserConfig = defineConfig({
  plugins: [luaScripts()],
  test: {
    include: ['test/browser/**/*.browser.ts'],
    // Pictures are for people, who ask for them.
    exclude: process.env.SLUICE_SCREENSHOTS === undefined ? ['test/browser/screenshots.browser.ts'] : [],
    globalSetup: ['test/servers/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    reporters: ['default', new ClosingLine()],
  },
})

export default config
