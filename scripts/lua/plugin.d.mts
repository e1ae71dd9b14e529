interface AssetEmitter {
  emitFile(file: { type: 'asset'; fileName: string; source: string }): string
}
export function luaScripts(options?: { readonly writesFiles?: boolean }): {
  name: string
  resolveId: (id: string) => string | undefined
  load: (id: string) => string | undefined
  generateBundle(this: AssetEmitter, output: { readonly format: string }): void
}
