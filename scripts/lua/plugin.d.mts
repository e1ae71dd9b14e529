interface AssetEmitter {
  emitFile(file: { type: 'asset'; fileName: string; source: string }): string
}
export function luaScripts(): {
  name: string
  resolveId: (id: string) => string | undefined
  load: (id: string) => string | undefined
  generateBundle(this: AssetEmitter, output: { readonly format: string }): void
}
