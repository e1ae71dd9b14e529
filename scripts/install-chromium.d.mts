/** Where Chromium is: what SLUICE_CHROMIUM says, or on the PATH, or in /usr/bin; `undefined` when it is nowhere. */
export function findChromium(env?: Readonly<Record<string, string | undefined>>): string | undefined
