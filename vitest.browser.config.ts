import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { luaScripts } from './scripts/lua/plugin.mjs'

// The page in a real browser, against the built service: `npm run test:browser`.
const config: ViteUserConfig = defineConfig({
  plugins: [luaScripts()],
  test: {
    include: ['test/browser/**/*.browser.ts'],
    globalSetup: ['test/servers/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
  },
})

export default config
