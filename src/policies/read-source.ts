import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type LineCounter,
  type Node,
  Parser,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { show } from '../core/check.ts'
import type { MappingEntry, ReportProblem, SourceNode } from './source-node.ts'

/** The longest text that is read, in UTF-16 code units: a thousand policies and more. */
const MOST_CHARACTERS = 200_000

/** How many values aliases may stand for, all together: what a few lines can blow up without end is refused. */
const MOST_REPEATED = 10_000

/** Deeper than any file of policies, and far from where a stack ends. */
const DEEPEST = 20
const TOO_DEEP = `values must be nested at most ${DEEPEST} deep`

/** What the parser has open besides values: the document, the one that is not in another, and what it is about to read. */
const NEVER_VALUES = 4

/**
 * Reads YAML or JSON into values that know where they stand; `undefined` when it cannot be read or is empty. Whatever the text is, it
 * neither throws nor takes long.
 */
export function readSource(text: string, lines: LineCounter, reportProblem: ReportProblem): SourceNode | undefined {
  if (text.length > MOST_CHARACTERS) {
    reportProblem(0, `the file must have at most ${MOST_CHARACTERS} characters, got ${text.length}`)
    return undefined
  }
  const tokens = readTokens(text, lines, reportProblem)
  if (tokens === undefined) return undefined
  // This reader reports repeated names: the parser would compare each with each.
  const options = { prettyErrors: false, uniqueKeys: false, merge: false, resolveKnownTags: false } as const
  const [document, another] = new Composer(options).compose(tokens, true, text.length)
  const { errors, warnings, contents } = document as Document.Parsed
  const mistakes = [...errors, ...warnings]
  for (const { message, pos } of mistakes) reportProblem(pos[0], plainly(message))
  if (another !== undefined)
    reportProblem(another.range[0], 'a file has one document. Remove everything from this line on')
  if (mistakes.length > 0 || another !== undefined || contents === null) return undefined
  return new SourceReader(reportProblem).read(contents, 0)
}

/**
 * What the text is made of; `undefined` when its values are deeper in one another than they may be. That is looked at before anything is
 * made of them: the parser goes into them by recursion, which ends with the stack.
 */
function readTokens(text: string, lines: LineCounter, reportProblem: ReportProblem): readonly CST.Token[] | undefined {
  const parser = new Parser(lines.addNewLine)
  const tokens: CST.Token[] = []
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme))
    if (parser.stack.length > DEEPEST + NEVER_VALUES) {
      reportProblem(parser.offset - lexeme.length, TOO_DEEP)
      return undefined
    }
  }
  return [...tokens, ...parser.end()]
}

function plainly(message: string): string {
  if (message.startsWith('Unresolved tag: '))
    return `tags such as ${show(message.slice(16))} are not supported. Remove the tag`
  return message.replaceAll(/\p{Cc}/gu, ' ')
}

class SourceReader {
  readonly #reportProblem: ReportProblem
  /** What has been read under a name of its own. A value is not there yet while it is read, so none contains itself. */
  readonly #anchors = new Map<string, Node>()
  #repeated = 0
  #aliasDepth = 0

  constructor(reportProblem: ReportProblem) {
    this.#reportProblem = reportProblem
  }

  read(node: Node | null | undefined, at: number, depth = 0): SourceNode {
    const start = node?.range?.[0] ?? at
    if (this.#aliasDepth > 0) this.#repeated += 1
    if (depth > DEEPEST) {
      this.#reportProblem(start, TOO_DEEP)
      return { kind: 'other', at: start, value: null }
    }
    if (isAlias(node)) return this.#readAlias(node, start, depth)
    const read = this.#readValue(node, start, depth)
    if (node?.anchor !== undefined) this.#anchors.set(node.anchor, node)
    return read
  }

  #readValue(node: Scalar | YAMLMap | YAMLSeq | Node | null | undefined, at: number, depth: number): SourceNode {
    if (isMap(node)) return this.#readMap(node, at, depth)
    if (isScalar(node)) return { kind: 'other', at, value: node.value, source: node.source }
    if (!isSeq(node)) return { kind: 'other', at, value: null }
    const items = node.items.map((item) => this.read(item as Node | null, at, depth + 1))
    return { kind: 'other', at, value: [], items }
  }

  #readAlias({ source }: Alias, at: number, depth: number): SourceNode {
    const found = this.#anchors.get(source)
    if (found === undefined || this.#repeated > MOST_REPEATED) {
      const missing = `unknown anchor ${show(source)}. Define it above this line`
      this.#reportProblem(
        at,
        found === undefined ? missing : `aliases must not repeat more than ${MOST_REPEATED} values`,
      )
      return { kind: 'other', at, value: null }
    }
    this.#aliasDepth += 1
    const read = this.read(found, at, depth + 1)
    this.#aliasDepth -= 1
    return read
  }

  #readMap(map: YAMLMap, at: number, depth: number): SourceNode {
    const entries = new Map<string, MappingEntry>()
    const merged: SourceNode[] = []
    for (const { key, value } of map.items) {
      const keyAt = (key as Node | null)?.range?.[0] ?? at
      const name = readName(key)
      const read = this.read(value as Node | null, keyAt, depth + 1)
      if (name === undefined) this.#reportProblem(keyAt, 'a name must be a non-empty string')
      else if (name === '<<') merged.push(read)
      else if (entries.has(name)) this.#reportProblem(keyAt, `duplicate name ${show(name)}. Remove one`)
      else entries.set(name, { at: keyAt, value: read })
    }
    for (const part of merged) this.#merge(entries, part)
    return { kind: 'map', at, entries }
  }

  // What stands here itself wins over what is merged into it.
  #merge(entries: Map<string, MappingEntry>, part: SourceNode): void {
    if (part.kind !== 'map') {
      this.#reportProblem(part.at, '<< takes one map, such as the alias *defaults')
      return
    }
    for (const [name, entry] of part.entries) if (!entries.has(name)) entries.set(name, entry)
  }
}

/** A name as it is written: 42 and true are names too. */
function readName(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined
  const { value, source } = key as Scalar
  const name = typeof value === 'string' ? value : source
  return name === undefined || name === '' ? undefined : name
}
