import { execFile } from 'node:child_process'

/** What a program printed, and the code it ended with. */
export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program in `folder` to its end, whatever its exit code. */
export function run(program: string, args: readonly string[], folder: string): Promise<Ran> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: folder }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code
      if (typeof code === 'number') resolve({ code, stdout, stderr })
      else reject(error)
    })
  })
}

/** Runs a program that has to succeed, and answers what it printed. */
export async function output(program: string, args: readonly string[], folder: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, folder)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}\n${stdout}${stderr}`)
  return stdout
}
