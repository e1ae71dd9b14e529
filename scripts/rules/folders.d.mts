export const ROOT: string
export const OPEN: string
export const RULE_FILES: Readonly<Record<string, string>>
export function ruleFolders(root?: string): string[]
export function listedRules(root?: string): string[]
export function missingIn(name: string, root?: string): string[]
