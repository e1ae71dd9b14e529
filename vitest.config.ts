import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { luaScripts } from './scripts/lua/plugin.mjs'
import { ClosingLine } from './test/closing-line.ts'

const config: ViteUserConfig = defineConfig({
  plugins: [luaScripts()],
  resolve: {
    alias: {
      'sluice/testing': fileURLToPath(new URL('src/testing/index.ts', import.meta.url)),
      'sluice/redis': fileURLToPath(new URL('src/stores/redis/index.ts', import.meta.url)),
      sluice: fileURLToPath(new URL('src/index.ts', import.meta.url)),
    },
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/servers/global-setup.ts'],
    testTimeout: 30_000,
    reporters: ['default', new ClosingLine()],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.test.ts', 'src/**/*.examples.ts', 'src/**/index.ts'],
      reporter: ['text-summary'],
      thresholds: { statements: 100, branches: 99, functions: 100, lines: 100 },
    },
  },
})

export default config
