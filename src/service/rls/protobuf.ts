const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Called with the number of each field. It reads the field's value or, when it does not know the field, returns false. */
export type ReadField = (field: number, reader: ProtobufReader) => unknown

/** Reads messages of protocol buffers. Throws a `RangeError` when the bytes are no message. */
export class ProtobufReader {
  readonly #bytes: Buffer
  #at: number
  #end: number

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#at = 0
    this.#end = bytes.length
  }

  /** Reads all fields up to the end of the message. */
  readFields(read: ReadField): void {
    while (this.#at < this.#end) {
      const tag = this.readNumber()
      if (read(Math.floor(tag / 8), this) === false) this.#skip(tag % 8)
    }
  }

  /** Reads a message inside of this one. */
  readMessage(read: ReadField): void {
    const outer = this.#end
    this.#end = this.#readEnd()
    this.readFields(read)
    this.#end = outer
  }

  readText(): string {
    const start = this.#readEnd()
    const from = this.#at
    this.#at = start
    return this.#bytes.toString('utf8', from, start)
  }

  /** Reads a whole number. Beyond 2^53 it is not exact, and still that large. */
  readNumber(): number {
    let value = 0
    for (let factor = 1; factor < 2 ** 70; factor *= 128) {
      if (this.#at >= this.#end) break
      const byte = this.#bytes[this.#at++] as number
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
    throw new RangeError('the message ends inside of a number, or the number is too long')
  }

  #readEnd(): number {
    const length = this.readNumber()
    const end = this.#at + length
    if (end > this.#end) throw new RangeError('a part of the message is longer than the message')
    return end
  }

  #skip(type: number): void {
    if (type === VARINT) this.readNumber()
    else if (type === BYTES) this.#at = this.#readEnd()
    else if (type === FIXED64) this.#at += 8
    else if (type === FIXED32) this.#at += 4
    else throw new RangeError(`the message has a field of the type ${type}`)
    if (this.#at > this.#end) throw new RangeError('a part of the message is longer than the message')
  }
}

/** Writes a message of protocol buffers. What is zero or empty is left out, as the format has it. */
export class ProtobufWriter {
  readonly #parts: Buffer[] = []

  writeNumber(field: number, value: number): this {
    if (value !== 0) this.#parts.push(encodeNumbers(field * 8 + VARINT, value))
    return this
  }

  writeText(field: number, text: string): this {
    return text === '' ? this : this.#writeBytes(field, Buffer.from(text))
  }

  /** Writes a message inside of this one, empty or not. */
  writeMessage(field: number, message: ProtobufWriter): this {
    return this.#writeBytes(field, message.finish())
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts)
  }

  #writeBytes(field: number, bytes: Buffer): this {
    this.#parts.push(encodeNumbers(field * 8 + BYTES, bytes.length), bytes)
    return this
  }
}

function encodeNumbers(tag: number, value: number): Buffer {
  const bytes = [tag]
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  bytes.push(rest)
  return Buffer.from(bytes)
}
