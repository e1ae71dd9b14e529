/** The most that an integer of a structured field can say. */
const LARGEST = 999_999_999_999_999

const PRINTABLE = /^[ -~]*$/
const HALF_A_PAIR = /[\ud800-\udfff]/gu

/** A text as a string of a structured field. Those hold printable ASCII only: a text with anything else in it is percent-encoded. */
export function fieldString(text: string): string {
  const ascii = PRINTABLE.test(text) ? text : encodeURIComponent(text.replace(HALF_A_PAIR, '\ufffd'))
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`
}

/** A whole number as an integer of a structured field, which has at most 15 digits. */
export function fieldInteger(value: number): number {
  return Math.min(value, LARGEST)
}
