import { show } from '../../../core/check.ts'

/** An address as messages show it, which end up in logs: its scheme alone, because what follows often has a password in it. */
export function showAddress(address: string): string {
  const scheme = /^\w+:\/\//.exec(address)?.[0]
  return scheme === undefined ? 'a string' : show(`${scheme}…`)
}
