import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Every public name with its type, by entry of the package. What several entries export is written out at the first of them.
 * Reads single files: with `isolatedDeclarations` each of them says its types itself.
 */
export function composeApiReport() {
  const { paths } = JSON.parse(readFileSync(resolve(root, 'tsconfig.json'), 'utf8')).compilerOptions
  const firstEntry = new Map()
  const sections = Object.entries(paths).map(([entry, [file]]) => {
    const names = [...listExports(resolve(root, file))].sort(([one], [other]) => (one < other ? -1 : 1))
    const lines = names.map(([name, origin]) => {
      const before = firstEntry.get(`${origin.file} ${origin.name}`)
      if (before !== undefined) return `${name}: see ${before}`
      firstEntry.set(`${origin.file} ${origin.name}`, entry)
      return printDeclarations(name, origin)
    })
    return [`# ${entry}`, ...lines].join('\n\n')
  })
  return `${sections.join('\n\n\n')}\n`
}

/** The exports of a file: by each name, the file that declares it and its name there. */
function listExports(file) {
  const found = new Map()
  for (const statement of parse(file).statements) {
    if (ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined) {
      const inner = listExports(resolve(dirname(file), statement.moduleSpecifier.text))
      const { exportClause } = statement
      if (exportClause === undefined) for (const [name, origin] of inner) found.set(name, origin)
      else
        for (const { name, propertyName } of exportClause.elements)
          found.set(name.text, findExport(inner, propertyName ?? name, file))
      continue
    }
    for (const name of listDeclared(statement)) found.set(name, { file, name })
  }
  return found
}

function findExport(exports, { text }, file) {
  const origin = exports.get(text)
  if (origin === undefined) throw new Error(`${relative(root, file)} exports ${text}, which is not there`)
  return origin
}

function listDeclared(statement) {
  if (!statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(({ name }) => name.text)
  return statement.name === undefined ? [] : [statement.name.text]
}

function printDeclarations(name, origin) {
  const text = readFileSync(origin.file, 'utf8')
  const compilerOptions = { target: ts.ScriptTarget.ES2022, removeComments: true, declaration: true }
  const { outputText } = ts.transpileDeclaration(text, { fileName: origin.file, compilerOptions })
  const source = ts.createSourceFile('api.d.ts', outputText, ts.ScriptTarget.Latest, true)
  const printer = ts.createPrinter({ removeComments: true })
  const declared = source.statements.filter((statement) => listDeclared(statement).includes(origin.name))
  const printed = declared.map((statement) => printer.printNode(ts.EmitHint.Unspecified, statement, source))
  return printed.join('\n').replaceAll('export declare ', '').replaceAll('export ', '').replace(origin.name, name)
}

function parse(file) {
  return ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
}
