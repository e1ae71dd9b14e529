import { ReflectionKind } from 'typedoc'

const CALLED = [ReflectionKind.Function, ReflectionKind.Class, ReflectionKind.Variable]

/** The first page of the API reference: a table for each entry of the package, with a line for each name. What programs call comes first. */
export function composeIndex(project, router) {
  const entries = project.children.map((entry) => {
    const names = entry.children.filter(({ kind }) => kind !== ReflectionKind.Reference)
    const sorted = [...names.filter(isCalled), ...names.filter((item) => !isCalled(item))]
    const lines = sorted.map((item) => `| [\`${item.name}\`](${router.getFullUrl(item)}) | ${summarize(item)} |`)
    return `## [${entry.name}](${router.getFullUrl(entry)})\n\n| name | what it is |\n| --- | --- |\n${lines.join('\n')}`
  })
  const text = 'Every public name of the package. The page of each entry has types and parameters.'
  return `# API\n\n${text}\n\n${entries.join('\n\n')}\n`
}

function isCalled({ kind }) {
  return CALLED.includes(kind)
}

/** The first sentence of the comment, in one line that a table can hold. */
function summarize(item) {
  const { summary } = item.comment ?? item.signatures?.[0]?.comment ?? { summary: [] }
  const text = summary
    .map((part) => part.text)
    .join('')
    .replaceAll(/\s+/g, ' ')
  const [sentence] = /^.*?\.(?= |$)/.exec(text) ?? [text]
  return sentence.replaceAll('|', '\\|')
}
