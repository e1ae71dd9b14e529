import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type UserConfig } from 'vitepress'
import { headingId } from './heading-id.ts'
import { nav, sidebar } from './navigation.ts'
import { linkedFiles, repositoryLinks } from './repository-links.ts'
import { sitePath } from './site-path.ts'

// Below which path the site is served: SLUICE_DOCS_BASE=/sluice/ npm run docs:build
const base = process.env.SLUICE_DOCS_BASE ?? '/'
const root = fileURLToPath(new URL('../..', import.meta.url))

// A gate with a gap. In the page itself, so that no request is made for it.
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0b6bcb" d="M1 2h4v12H1zm10 0h4v12h-4zM6 7h4v2H6z"/></svg>',
)}`

const config: UserConfig = defineConfig({
  title: 'Sluice',
  description: 'Exact, fast rate limiting for Node: in memory or on Redis, for any framework.',
  lang: 'en',
  base,
  head: [['link', { rel: 'icon', href: ICON }]],
  srcDir: root,
  srcExclude: ['test/**', 'coverage/**'],
  outDir: join(root, 'docs/.vitepress/dist'),
  cacheDir: join(root, '.cache/vitepress'),
  rewrites: sitePath,
  cleanUrls: true,
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify: headingId },
    languageAlias: { mjs: 'js', cjs: 'js', mts: 'ts', cts: 'ts' },
    config: (markdown) => repositoryLinks(markdown, root, base),
  },
  vite: {
    // The search index is one large file, which the browser fetches at the first search.
    build: { chunkSizeWarningLimit: 2_000 },
    // VitePress must not read the HTML of other folders.
    optimizeDeps: { entries: [] },
  },
  themeConfig: {
    nav,
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    externalLinkIcon: true,
    notFound: {
      title: 'No such page',
      quote: 'It may have moved: try the search.',
      linkLabel: 'go to the start page',
      linkText: 'Start page',
    },
  },
  buildEnd({ outDir }) {
    for (const file of linkedFiles) cpSync(join(root, file), join(outDir, file))
  },
})

// biome-ignore lint/style/noDefaultExport: VitePress reads it so.
export default config
