import { defineConfig, type UserConfig } from 'tsdown'
import { luaScripts } from './scripts/lua/plugin.mjs'
import { policiesSchema } from './scripts/policies-schema.mjs'
import tsconfig from './tsconfig.json' with { type: 'json' }

// The entries of the package are named once, in tsconfig.json: `sluice` is index, `sluice/redis` is redis.
const entry = Object.fromEntries(
  Object.entries(tsconfig.compilerOptions.paths).map(([name, [file]]) => [
    name.split('/')[1] ?? 'index',
    file as string,
  ]),
)

const config: UserConfig = defineConfig({
  entry,
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'node',
  dts: true,
  // Doc comments are in the types, where editors read them.
  outputOptions: { comments: { jsdoc: false } },
  // Without a comment before and after each module.
  inputOptions: { experimental: { attachDebugInfo: 'none' } },
  plugins: [luaScripts(), policiesSchema()],
})

export default config
