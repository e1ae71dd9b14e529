import { defineConfig, type UserConfig } from 'tsdown'
import { luaScripts } from './scripts/lua/plugin.mjs'
import { markdownTexts } from './scripts/markdown-texts.mjs'
import { thirdPartyLicences } from './scripts/third-party-licences.mjs'

// The command line brings its libraries along: an application that uses the library alone installs none of them.
const config: UserConfig = defineConfig({
  entry: { sluice: 'src/cli/sluice.ts' },
  outDir: 'dist/cli',
  format: 'esm',
  target: 'node20',
  platform: 'node',
  dts: false,
  // A program that users run and never read. Names stay: a stack trace in a report has to tell where it comes from.
  minify: true,
  outputOptions: { keepNames: true },
  // Few need gRPC, and who does installs it.
  deps: { alwaysBundle: [/^(?!@grpc\/)/], neverBundle: ['@grpc/grpc-js'], onlyBundle: false },
  plugins: [luaScripts({ writesFiles: false }), markdownTexts(), thirdPartyLicences()],
})

export default config
