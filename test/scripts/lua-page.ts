import { readFileSync } from 'node:fs'

/** The page about the scripts, as it is. */
const page: string = readFileSync(new URL('../../docs/lua.md', import.meta.url), 'utf8')

/** A block of shell commands and what the page says that they print. */
export interface ShellBlock {
  readonly title: string
  readonly text: string
  /** Compared with the whole output, every stretch of white space taken for one space. */
  readonly prints: RegExp
}

/** Every block of shell commands on the page that asks a server. */
export function shellBlocks(): ShellBlock[] {
  return [...page.matchAll(/```sh\n([\s\S]*?)```/g)]
    .filter(([, text]) => text?.includes('redis-cli'))
    .map(({ 1: text = '', index }) => ({
      title: `line ${page.slice(0, index).split('\n').length}: ${text.split('\n')[0]}`,
      text,
      prints: outputOf(text),
    }))
}

/** What is below a heading, up to the next one. */
function section(heading: string): string {
  const [, text] = new RegExp(`^${heading}\n([\\s\\S]*?)(?=^#+ )`, 'm').exec(`${page}\n# `) ?? []
  if (text === undefined) throw new Error(`docs/lua.md has no heading "${heading}"`)
  return text
}

/** The cells of the table in a section, without its head. */
export function tableOf(heading: string): string[][] {
  const rows = section(heading)
    .split('\n')
    .filter((line) => line.startsWith('|'))
  return rows.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split(' |')
      .map((cell) => cell.trim()),
  )
}

/** The text of a cell that is code. */
export function code(cell = ''): string {
  return cell.replaceAll('`', '')
}

function outputOf(text: string): RegExp {
  const replies = [...text.matchAll(/^# → (.+)$/gm)].map(([, reply = '']) => {
    // Among numbers … is one of them, among words it is any words.
    const rest = /^[-\d… ]+$/.test(reply) ? '\\d+' : '.*?'
    return reply
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join(rest)
  })
  return new RegExp(`^${replies.join(' ')}$`)
}
