/** Every public name with its type, by entry of the package. */
export function composeApiReport(): string
