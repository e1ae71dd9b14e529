/**
 * The slot of a Redis Cluster in which a key lies, 0 to 16383, as `CLUSTER KEYSLOT` says it: CRC-16/XMODEM of the key's UTF-8, or
 * only of what stands between its first `{` and the first `}` after that, unless nothing does.
 */
export function computeSlot(key: string): number {
  const text = hashedPart(key)
  let crc = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > LAST_ASCII) return computeCrc(utf8.encode(text)) % SLOTS
    crc = nextCrc(crc, code)
  }
  return crc % SLOTS
}

function hashedPart(key: string): string {
  const open = key.indexOf('{')
  if (open === -1) return key
  const close = key.indexOf('}', open)
  return close > open + 1 ? key.slice(open + 1, close) : key
}

function computeCrc(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = nextCrc(crc, byte)
  return crc
}

function nextCrc(crc: number, byte: number): number {
  return ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] as number)
}

const SLOTS = 16_384
// ASCII is its own UTF-8, and most keys are nothing else: they need no copy.
const LAST_ASCII = 0x7f
const utf8 = new TextEncoder()

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})
