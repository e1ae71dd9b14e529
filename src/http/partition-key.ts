import { createHmac } from 'node:crypto'
import { encodeSubject, type Subject } from '../core/key.ts'

/** A subject as `pk` tells it: the same for the same subject, unreadable, and not to be guessed without the secret. Base64. */
export function partitionKey(subject: Subject, secret: string): string {
  return createHmac('sha256', secret).update(encodeSubject(subject)).digest().subarray(0, 12).toString('base64')
}
