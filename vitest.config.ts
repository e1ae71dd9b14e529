import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { luaScripts } from './scripts/lua/plugin.mjs'
import { ClosingLine } from './test/closing-line.ts'
import tsconfig from './tsconfig.json' with { type: 'json' }

// The entries of the package are named once, in tsconfig.json. The longest names first: `sluice` is the start of all of them.
const entries = Object.entries(tsconfig.compilerOptions.paths)
  .map(([find, [file]]) => ({ find, replacement: fileURLToPath(new URL(file as string, import.meta.url)) }))
  .sort((one, other) => other.find.length - one.find.length)

const config: ViteUserConfig = defineConfig({
  plugins: [luaScripts()],
  resolve: { alias: entries },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/servers/global-setup.ts'],
    testTimeout: 30_000,
    // Left to itself it would use one of two cores: much of the time of the tests is waiting for servers.
    maxWorkers: 2,
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
