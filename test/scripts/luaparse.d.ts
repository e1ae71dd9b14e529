declare module 'luaparse' {
  export interface Node {
    readonly type: string
    readonly name?: string
    readonly isLocal?: boolean
  }
  export function parse(
    source: string,
    options: { luaVersion: '5.1'; scope: true; onCreateNode(node: Node): void },
  ): { readonly body: readonly Node[]; readonly globals: readonly Node[] }
}
