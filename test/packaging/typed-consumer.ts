import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** How a project compiles: the type of its package, and the compiler options that matter here. */
export interface Project {
  readonly name: string
  readonly type: 'module' | 'commonjs'
  readonly compilerOptions: Readonly<Record<string, unknown>>
  /** Which of the consumers. */
  readonly source: 'typed' | 'frameworks'
  /** The workspace that has the compiler. @default this repository */
  readonly compiler?: string
  /** More files by name, which are compiled as well. */
  readonly files?: Readonly<Record<string, string>>
}

/**
 * Compiles a TypeScript project below `folder`, as strictly as it can, with no types but the
 * package's own. Answers what the compiler complains of, a line each, and the file to run.
 */
export async function compileConsumer(folder: string, project: Project): Promise<{ errors: string[]; script: string }> {
  const home = join(folder, project.name.replaceAll(/\W+/g, '-'))
  await mkdir(home)
  const compilerOptions = { ...STRICT, ...project.compilerOptions }
  await writeFile(join(home, 'package.json'), JSON.stringify({ private: true, type: project.type }))
  const { files = {} } = project
  for (const [name, text] of Object.entries(files)) await writeFile(join(home, name), text)
  const compiled = [`${project.source}.ts`, ...Object.keys(files)]
  await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: compiled }))
  const source = new URL(`./consumers/${project.source}.ts`, import.meta.url)
  await copyFile(source, join(home, `${project.source}.ts`))
  const tsc = join(ROOT, project.compiler ?? '', 'node_modules/typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', '.'], home)
  return { errors: stdout.split('\n').filter((line) => line !== ''), script: join(home, 'out', `${project.source}.js`) }
}

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  types: [],
  target: 'es2022',
  rootDir: '.',
  outDir: 'out',
}
