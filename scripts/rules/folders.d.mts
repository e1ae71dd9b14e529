export const ROOT: string
export function ruleFolders(root?: string): string[]
export function listedRules(root?: string): string[]
export function missingIn(name: string, root?: string): string[]
