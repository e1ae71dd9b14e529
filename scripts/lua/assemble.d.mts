export function scriptNames(): string[]
export function argumentNames(name: string): { required: string[]; optional: string[] }
export function assemble(name: string, version: number): string
