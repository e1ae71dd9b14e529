export function minify(text: string): string
