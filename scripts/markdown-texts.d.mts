export function markdownTexts(): {
  name: string
  load: (id: string) => string | undefined
}
