import { defineConfig, type UserConfig } from 'tsdown'
import { luaScripts } from './scripts/lua/plugin.mjs'

const config: UserConfig = defineConfig({
  entry: { index: 'src/index.ts', redis: 'src/stores/redis/index.ts', testing: 'src/testing/index.ts' },
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'node',
  dts: { sourcemap: true },
  // `await using` needs types that not every project has: bring them along.
  banner: { dts: '/// <reference lib="esnext.disposable" />' },
  sourcemap: true,
  plugins: [luaScripts()],
})

export default config
