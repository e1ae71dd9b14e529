export function scriptNames(): string[]
export function parameterNames(name: string): string[]
export function assemble(name: string, version: number): string
