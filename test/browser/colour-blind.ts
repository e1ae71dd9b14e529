type Triple = readonly [number, number, number]
type Matrix = readonly [Triple, Triple, Triple]

/** How people see who lack one kind of cone, on linear light: Machado, Oliveira and Fernandes (2009), at full severity. */
const SIGHTS: Readonly<Record<string, Matrix>> = {
  'all cones': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  'no long waves': [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  'no middle waves': [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  'no short waves': [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}

/** How different two colours such as `rgb(1, 2, 3)` look to each kind of eye, in CIELAB: from 10 on they are not mixed up. */
export function differences(one: string, other: string): Record<string, number> {
  return Object.fromEntries(
    Object.entries(SIGHTS).map(([name, sight]) => {
      const [first, second] = [one, other].map((colour) => lab(times(sight, linear(colour)))) as [Triple, Triple]
      return [name, Math.hypot(first[0] - second[0], first[1] - second[1], first[2] - second[2])]
    }),
  )
}

function linear(colour: string): Triple {
  const parts = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => Number(part) / 255)
  return parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as unknown as Triple
}

function times(matrix: Matrix, [x, y, z]: Triple): Triple {
  return matrix.map((row) => Math.max(0, row[0] * x + row[1] * y + row[2] * z)) as unknown as Triple
}

function lab(light: Triple): Triple {
  const [x, y, z] = times(
    [
      [0.4124 / 0.95047, 0.3576 / 0.95047, 0.1805 / 0.95047],
      [0.2126, 0.7152, 0.0722],
      [0.0193 / 1.08883, 0.1192 / 1.08883, 0.9505 / 1.08883],
    ],
    light,
  ).map((part) => (part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116)) as unknown as Triple
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}
