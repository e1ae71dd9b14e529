import { readdir, writeFile } from 'node:fs/promises'
import { basename, delimiter, dirname, join, relative } from 'node:path'
import { libraryFolders } from './library-folders.ts'

/** Where `wrapWithLoader` puts the wrapper. */
export function wrapperPath(folder: string, program: string): string {
  return join(folder, program)
}

/**
 * Makes a program in a folder of unpacked packages run with the C library beside it instead of the machine's, which may
 * be older: through a script that starts it with that library's own loader. The folder may be moved afterwards.
 */
export async function wrapWithLoader(folder: string, program: string): Promise<void> {
  const files = await readdir(folder, { recursive: true })
  const cLibrary = files.find((file) => basename(file) === 'libc.so.6')
  const isLoader = (file: string) =>
    dirname(file) === dirname(cLibrary ?? '') && /^ld-.*\.so\.\d+$/.test(basename(file))
  const loader = files.find(isLoader)
  if (loader === undefined) throw new Error(`no C library came with ${program}`)
  const libraries = (await libraryFolders(folder)).map((library) => `$here/${relative(folder, library)}`)
  const script = [
    '#!/bin/sh',
    'here=$(dirname "$0")',
    // exec, so that the process that is watched and ended is the server itself.
    `exec "$here/${loader}" --library-path "${libraries.join(delimiter)}" "$here/usr/bin/${program}" "$@"`,
    '',
  ]
  await writeFile(wrapperPath(folder, program), script.join('\n'), { mode: 0o755 })
}
