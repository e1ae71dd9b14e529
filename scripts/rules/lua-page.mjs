/** The page of the scripts, as it is. */
export function luaPage(page) {
  return page
}
