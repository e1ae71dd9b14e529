import { readFileSync } from 'node:fs'

/** Makes `import { text } from './page.md'` the text of that page, in the build and in the tests alike. */
export function markdownTexts() {
  return {
    name: 'sluice-markdown-texts',
    load: (id) => (id.endsWith('.md') ? `export const text = ${JSON.stringify(readFileSync(id, 'utf8'))}` : undefined),
  }
}
