interface AssetEmitter {
  emitFile(file: { type: 'asset'; fileName: string; source: string }): string
}
interface Chunk {
  readonly modules?: Readonly<Record<string, unknown>>
}
export function thirdPartyLicences(): {
  name: string
  generateBundle(this: AssetEmitter, output: unknown, bundle: Readonly<Record<string, Chunk>>): void
}
