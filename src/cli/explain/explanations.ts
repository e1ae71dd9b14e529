import { text as errors } from '../../../docs/errors.md'
import { text as warnings } from '../../../docs/warnings.md'
import { formatInline } from './format-section.ts'

/** The section of a page about one code. */
export interface Explanation {
  readonly code: string
  readonly kind: 'error' | 'warning'
  /** The Markdown below the heading. */
  readonly section: string
}

/** Every error and every warning, in the order of the pages. A code may be both. */
export const EXPLANATIONS: readonly Explanation[] = [...readPage(errors, 'error'), ...readPage(warnings, 'warning')]

/** The first statement of a section, in one line. */
export function summarize({ section }: Explanation): string {
  const [paragraph = ''] = section.split('\n\n')
  const [statement] = /^.*?(?=[.:](?:\s|$)|$)/.exec(formatInline(paragraph).replaceAll('`', '')) as RegExpExecArray
  return statement
}

function readPage(page: string, kind: Explanation['kind']): readonly Explanation[] {
  const [, ...parts] = page.split(/^## /m)
  return parts.map((part) => {
    const end = part.indexOf('\n')
    return { code: part.slice(0, end), kind, section: part.slice(end).trim() }
  })
}
