import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config'
import { luaScripts } from './scripts/lua/plugin.mjs'
import { markdownTexts } from './scripts/markdown-texts.mjs'
import { ClosingLine } from './test/closing-line.ts'
import { SlowestFirst } from './test/slowest-first.ts'
import tsconfig from './tsconfig.json' with { type: 'json' }

// The entries of the package are named once, in tsconfig.json. The longest names first: `sluice` is the start of all of them.
const entries = Object.entries(tsconfig.compilerOptions.paths)
  .map(([find, [file]]) => ({ find, replacement: fileURLToPath(new URL(file as string, import.meta.url)) }))
  .sort((one, other) => other.find.length - one.find.length)

// What has a limit in milliseconds runs without coverage, which makes code slower, and alone. CI does so before everything else.
const untimed = process.argv.includes('--coverage')
  ? ['test/bounded-work.test.ts', 'test/redis/bounded-work.redis.test.ts']
  : []

const servers = ['test/servers/global-setup.ts', 'test/shared.setup.ts']

// The name of a file says which project runs it: `x.test.ts` needs nothing but this process, `x.redis.test.ts` a Redis server,
// `x.system.test.ts` the built package, other programs, or processes of its own.
const config: ViteUserConfig = defineConfig({
  plugins: [luaScripts(), markdownTexts()],
  resolve: { alias: entries },
  test: {
    setupFiles: ['test/every-file.setup.ts'],
    // Generous: a busy machine must not turn a right answer red.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // More than cores: most tests on servers wait for them most of the time.
    maxWorkers: 4,
    sequence: { sequencer: SlowestFirst },
    reporters: ['default', new ClosingLine()],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          // Half of the time would be loading the same modules again for every file.
          isolate: false,
          include: ['{src,test,page}/**/*.test.ts'],
          exclude: [...configDefaults.exclude, '**/*.{redis,system}.test.ts', ...untimed],
        },
      },
      {
        extends: true,
        test: {
          name: 'redis',
          isolate: false,
          include: ['{src,test}/**/*.redis.test.ts'],
          exclude: [...configDefaults.exclude, ...untimed],
          globalSetup: servers,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['{src,test}/**/*.system.test.ts'],
          globalSetup: servers,
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: [
        'src/**/*.test.ts',
        'src/**/*.examples.ts',
        'src/**/*.promises.ts',
        'src/**/*.samples.ts',
        'src/**/index.ts',
      ],
      reporter: ['text-summary', ['text', { skipFull: true }]],
      thresholds: { statements: 100, branches: 99, functions: 100, lines: 100 },
    },
  },
})

export default config
