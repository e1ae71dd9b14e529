import { defineConfig, type ViteUserConfig } from 'vitest/config'

// The unit tests that notice a wrong decision: `npm run test:mutation` runs them on every change.
const config: ViteUserConfig = defineConfig({
  test: {
    runner: 'scripts/mutation/runner.mjs',
    setupFiles: ['test/every-file.setup.ts', 'test/mutation.setup.ts'],
    include: [
      'src/rules/**/*.test.ts',
      'src/core/rule.test.ts',
      'src/engine/*.test.ts',
      'src/limiter/{hold,lease,next-after,tiers}.test.ts',
      'src/stores/memory/memory-{store,engine}.test.ts',
      'test/*-properties.test.ts',
      'test/expired-and-back.test.ts',
    ],
    // All files in one process, which knows the changes that earlier tests have noticed.
    isolate: false,
    fileParallelism: false,
    testTimeout: 30_000,
    reporters: ['dot'],
  },
})

export default config
