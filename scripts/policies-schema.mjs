import { loadSource } from './load-source.mjs'

/** Puts the JSON Schema of files of policies beside what is built, written from the code that reads them. */
export function policiesSchema() {
  return {
    name: 'sluice-policies-schema',
    async generateBundle({ format }) {
      if (format !== 'es') return
      const { composePoliciesSchema } = await loadSource('policies/policies-schema.ts')
      const source = JSON.stringify(composePoliciesSchema())
      this.emitFile({ type: 'asset', fileName: 'policies.schema.json', source })
    },
  }
}
