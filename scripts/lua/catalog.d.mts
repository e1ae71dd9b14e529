/** A version of a script in the manifest. */
export interface ManifestEntry {
  readonly version: number
  readonly sha1: string
  readonly released: boolean
  readonly parameters: readonly string[]
}
export const FOLDER: string
export const RELEASED: string
export function readManifest(): Record<string, ManifestEntry[]>
export function readScript(name: string, entry: Pick<ManifestEntry, 'version' | 'released'>): string
export function sha1Of(text: string): string
