// A model without a network: it repeats the prompt, a word at a time. A token is a word here.
import { setTimeout as delay } from 'node:timers/promises'

const { TOKEN_MS = 50 } = process.env
const wordsOf = (text) => text.split(/\s+/).filter((word) => word !== '')

/** How many tokens the messages take. */
export function countTokens(messages) {
  return messages.reduce((sum, { content }) => sum + wordsOf(content).length, 0)
}

/** Yields tokens, at most `max_tokens`, until it is done or the signal aborts. The model `broken` fails after three. */
export async function* generate({ model, messages, max_tokens: mostTokens }, signal) {
  const words = ['You', 'said:', ...wordsOf(messages.at(-1).content)].slice(0, mostTokens)
  for (const [index, word] of words.entries()) {
    await delay(Number(TOKEN_MS))
    if (signal.aborted) return
    if (model === 'broken' && index === 3) throw new Error('the model broke')
    yield `${word} `
  }
}
