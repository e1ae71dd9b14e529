import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { output } from './run.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COMPILE = fileURLToPath(new URL('./compile-projects.cjs', import.meta.url))

/** How a project compiles: the type of its package, and the compiler options that matter here. */
export interface Project {
  readonly name: string
  readonly type: 'module' | 'commonjs'
  readonly compilerOptions: Readonly<Record<string, unknown>>
  /** Which of the consumers. */
  readonly source: 'typed' | 'frameworks'
  /** More files by name, which are compiled as well. */
  readonly files?: Readonly<Record<string, string>>
}

/** What became of a project. */
export interface Compiled {
  /** What the compiler complains of, one text each. */
  readonly errors: readonly string[]
  /** The file to run. */
  readonly script: string
}

/**
 * Compiles TypeScript projects below `folder`, as strictly as they can, with no types but the package's own, with the compiler of a
 * workspace of this repository.
 */
export async function compileConsumers(
  folder: string,
  projects: readonly Project[],
  workspace = '',
): Promise<Compiled[]> {
  const homes: string[] = []
  for (const project of projects) homes.push(await writeConsumer(folder, project))
  const compiler = join(ROOT, workspace, 'node_modules/typescript')
  const errors = JSON.parse(await output(process.execPath, [COMPILE, compiler, ...homes], folder)) as string[][]
  return homes.map((home, index) => ({
    errors: errors[index] as string[],
    script: join(home, 'out', `${projects[index]?.source}.js`),
  }))
}

async function writeConsumer(folder: string, project: Project): Promise<string> {
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
  return home
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
