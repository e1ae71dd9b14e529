import { createHmac } from 'node:crypto'
import { encodeSubject, type Subject } from '../core/key.ts'

/** The value of `pk` for a subject, in base64: an HMAC, so that clients cannot guess the subject without the secret. */
export function partitionKey(subject: Subject, secret: string): string {
  return createHmac('sha256', secret).update(encodeSubject(subject)).digest().subarray(0, 12).toString('base64')
}
