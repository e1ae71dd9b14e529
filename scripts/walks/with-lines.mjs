import { SourceMap } from 'node:module'
import { compile } from './compile.mjs'

/** Where functions stand in the file that they were written in: adds `line` to each, and sorts them by file and line. */
export async function withLines(functions) {
  const files = new Map()
  for (const file of new Set(functions.map((each) => each.file))) {
    files.set(file, await compile(new URL(`../../${file}`, import.meta.url)))
  }
  const placed = functions.map((each) => ({ ...each, line: lineOf(files.get(each.file), each.offset) }))
  return placed.sort((one, other) => compare(one.file, other.file) || one.line - other.line)
}

function lineOf({ code, map }, offset) {
  const lines = code.slice(0, offset).split('\n')
  const { originalLine } = new SourceMap(JSON.parse(map)).findEntry(lines.length - 1, lines.at(-1).length)
  return originalLine + 1
}

function compare(one, other) {
  if (one === other) return 0
  return one < other ? -1 : 1
}
