export function withoutComments(text: string): string
