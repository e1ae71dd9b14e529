// Pages live beside what they are about. Here is where each is found on the site.
const PLACES: readonly (readonly [source: RegExp, page: string])[] = [
  [/^docs\/(.+)$/, '$1'],
  [/^README\.md$/, 'overview.md'],
  [/^CODE_OF_CONDUCT\.md$/, 'code-of-conduct.md'],
  [/^src\/rules\/[^/]+\/([^/]+)$/, 'rules/$1'],
  [/^src\/(.+)$/, 'code/$1'],
  [/^examples\/([^/]+)\/README\.md$/, 'examples/$1.md'],
  [/^bench\/results\/(.+)$/, 'results/$1'],
]

/** Folders of the repository that pages link to, and the pages that tell what is in them. */
const FOLDERS: Readonly<Record<string, string>> = {
  examples: 'docs/examples.md',
  'bench/results': 'docs/numbers.md',
}

/** Where a page of the repository is on the site: `src/rules/sliding-log/sliding-log.md` is `rules/sliding-log.md`. */
export function sitePath(source: string): string {
  const place = PLACES.find(([pattern]) => pattern.test(source))
  return place === undefined ? source.toLowerCase() : source.replace(...(place as [RegExp, string]))
}

/** The page that stands for a file or a folder of the repository, or `undefined` when it is no page. */
export function pageOf(source: string): string | undefined {
  const page = FOLDERS[source] ?? source
  return page.endsWith('.md') ? sitePath(page) : undefined
}

/** How a page is linked to: `/rules/sliding-log`, and `/` for the first one. */
export function siteLink(page: string): string {
  return `/${page.replace(/\.md$/, '').replace(/(^|\/)index$/, '$1')}`
}
