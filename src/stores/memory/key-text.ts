import { randomFillSync } from 'node:crypto'

/** The most common sizes of keys fit without growing. */
const USUAL_WORDS = 64

/**
 * One key as whole numbers, made to be compared, kept and found: how many bytes it has, and the bytes, four to a word. A byte is
 * a character, or half of one, with the first number negative, when one of them is beyond Latin-1. Reused for every key, so that
 * a look costs no object.
 */
export class KeyText {
  words: Int32Array = new Int32Array(USUAL_WORDS)
  /** How many of the words belong to the key. */
  length = 0
  hash = 0

  /** Reads a key: `words`, `length` and `hash` are its own until the next one. */
  read(key: string): void {
    if (!isDrawn) drawSecret()
    // One word more than it takes: the last one may not be full.
    if (key.length >= 2 * this.words.length - 4) this.words = new Int32Array(key.length)
    const { words } = this
    const whole = key.length & ~3
    // All bits that any of the characters has.
    let seen = 0
    let hash = key.length
    let count = 1
    for (let at = 0; at < whole; at += 4) {
      const first = key.charCodeAt(at)
      const second = key.charCodeAt(at + 1)
      const third = key.charCodeAt(at + 2)
      const fourth = key.charCodeAt(at + 3)
      seen |= first | second | third | fourth
      const word = first | (second << 8) | (third << 16) | (fourth << 24)
      words[count++] = word
      hash = mix(hash, word)
    }
    let word = 0
    for (let at = whole; at < key.length; at++) {
      const code = key.charCodeAt(at)
      seen |= code
      word |= code << ((at & 3) << 3)
    }
    words[0] = key.length
    words[count++] = word
    this.length = key.length === whole ? count - 1 : count
    this.hash = mix(hash, word)
    if (seen <= 0xff) return
    this.read(splitHalves(key))
    this.words[0] = -2 * key.length
  }
}

/** How many words a key takes, by its first one. */
export function countWords(first: number): number {
  return 1 + ((Math.abs(first) + 3) >> 2)
}

function splitHalves(key: string): string {
  let halves = ''
  for (let at = 0; at < key.length; at++)
    halves += String.fromCharCode(key.charCodeAt(at) & 0xff, key.charCodeAt(at) >> 8)
  return halves
}

// Who chooses keys must not choose which of them share a bucket. What a character does to the hash is this process's secret, for
// each of the four places in a word, and what a word does depends on all before it in a way that cannot be undone piece by piece.
// Drawn for the first key: a Worker may draw nothing while its modules load.
const SECRET = new Int32Array(1_024)
let isDrawn = false

function drawSecret(): void {
  randomFillSync(SECRET)
  isDrawn = true
}

function mix(hash: number, word: number): number {
  const drawn =
    (SECRET[word & 0xff] as number) ^
    (SECRET[0x100 + ((word >>> 8) & 0xff)] as number) ^
    (SECRET[0x200 + ((word >>> 16) & 0xff)] as number) ^
    (SECRET[0x300 + (word >>> 24)] as number)
  const product = Math.imul(hash ^ drawn, 0x9e3779b1)
  return product ^ (product >>> 15)
}
