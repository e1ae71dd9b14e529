import { defineConfig, type UserConfig } from 'tsdown'

const config: UserConfig = defineConfig({
  entry: { index: 'src/index.ts', testing: 'src/testing/index.ts' },
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'node',
  dts: { sourcemap: true },
  // `await using` needs types that not every project has: bring them along.
  banner: { dts: '/// <reference lib="esnext.disposable" />' },
  sourcemap: true,
})

export default config
