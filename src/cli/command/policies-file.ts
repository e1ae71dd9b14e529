import { readFile } from 'node:fs/promises'
import { show } from '../../core/check.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { type Policies, type Policy, readPolicies } from '../../policies/read-policies.ts'
import { UsageError } from '../terminal/command-failure.ts'

/** Reads a file of policies. Rejects with a `UsageError` when there is none, and with a `PoliciesError` when it is wrong. */
export async function readPoliciesFile(path: string): Promise<Policies> {
  return readPolicies(await readTextFile('policies', path), path)
}

/** The policy of that name. */
export function findPolicy(policies: Policies, name: string): Policy {
  const found = policies.find((policy) => policy.name === name)
  if (found !== undefined) return found
  const names = policies.map((policy) => policy.name)
  const hint = didYouMean(name, names)
  throw new UsageError(`unknown policy ${show(name)}${hint || `: there are ${names.join(', ')}`}`)
}

/** Reads a file. Rejects with a `UsageError` that names what it is a file of when it cannot be read. */
export async function readTextFile(what: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = WHY.get(`${code}`) ?? message
    throw new UsageError(`the ${what} file ${show(path)} cannot be read: ${reason}`)
  }
}

const WHY: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such file'],
  ['EISDIR', 'it is a folder'],
  ['EACCES', 'permission denied'],
])
