/** Numbers that look random and are the same for the same seed, in every browser and in Node. */
export interface Random {
  /** From 0 to below 1. */
  next(): number
  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number
  /** Times between events that have nothing to do with each other: 1 on average. */
  exponential(): number
}

/** A generator of its own for each seed, a whole number. */
export function randomFrom(seed: number): Random {
  const next = xoshiro(seed)
  return {
    next,
    whole: (least, most) => least + Math.floor(next() * (most - least + 1)),
    exponential: () => exponential(next),
  }
}

// xoshiro128** by Blackman and Vigna, its state spread out from the seed by a Weyl sequence and a mixer.
function xoshiro(seed: number): () => number {
  let weyl = seed
  const mixed = (): number => {
    weyl = (weyl + 0x9e3779b9) | 0
    let word = Math.imul(weyl ^ (weyl >>> 16), 0x21f0aaad)
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
    return word ^ (word >>> 15)
  }
  let [a, b, c, d] = [mixed(), mixed(), mixed(), mixed()]
  return () => {
    const five = Math.imul(b, 5)
    const result = Math.imul((five << 7) | (five >>> 25), 9)
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return (result >>> 0) / 2 ** 32
  }
}

// By von Neumann's comparisons: logarithms differ in the last digit from one browser to the next. A run of numbers that do not rise
// is of odd length with probability e^-x, where x is its first.
function exponential(next: () => number): number {
  for (let whole = 0; ; whole++) {
    const first = next()
    let last = first
    let length = 1
    for (let number = next(); number <= last; number = next()) {
      last = number
      length++
    }
    if (length % 2 === 1) return whole + first
  }
}
