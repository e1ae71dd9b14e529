interface AssetEmitter {
  emitFile(file: { type: 'asset'; fileName: string; source: string }): string
}
export function policiesSchema(): {
  name: string
  generateBundle(this: AssetEmitter, output: { readonly format: string }): Promise<void>
}
