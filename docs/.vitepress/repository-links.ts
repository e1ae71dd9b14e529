import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'
import { pageOf, siteLink } from './site-path.ts'

/** Files that pages link to, and that are no pages: LICENSE. They are copied to the site as they are. */
export const linkedFiles: Set<string> = new Set()

/**
 * Lets links between files of the repository, which is how they work on GitHub, lead to the pages of the site. What does not exist is
 * left as it is, and the build fails with a dead link.
 *
 * @param root folder of the repository.
 * @param base path that the site is served under, with a slash at its end.
 */
export function repositoryLinks(markdown: MarkdownRenderer, root: string, base: string): void {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    // A title has neither.
    const page = env?.realPath ?? env?.path
    if (typeof page !== 'string') return
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== 'link_open') continue
      const [path = '', anchor] = (token.attrGet('href') ?? '').split('#')
      if (path === '' || /^(\/|[a-z]+:)/.test(path)) continue
      const file = join(dirname(page), decodeURI(path))
      const target = relative(root, file)
      const link = pageOf(target)
      if (link !== undefined) {
        token.attrSet('href', siteLink(link) + (anchor === undefined ? '' : `#${anchor}`))
      } else if (existsSync(file)) {
        linkedFiles.add(target)
        token.attrSet('href', `${base}${target}`)
        // With a target VitePress takes it for what it is: no page.
        token.attrSet('target', '_self')
      }
    }
  })
}
