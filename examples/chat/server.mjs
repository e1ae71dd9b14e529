// A chat endpoint in the shape of OpenAI's, with a budget of tokens for each user: see README.md.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { closeLimits, limits } from './limits.mjs'
import { countTokens, generate } from './model.mjs'

const server = createServer(async (request, response) => {
  const user = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  if (request.method !== 'POST' || request.url !== '/v1/chat/completions') return fail(response, 404, 'no such address')
  if (user === undefined) return fail(response, 401, 'say who you are: Authorization: Bearer userLuis')
  const chat = await json(request).then(checked, () => undefined)
  if (chat === undefined) return fail(response, 400, 'messages must be texts, and max_tokens from 1 to 4,096')
  await complete(user, chat, response).catch((error) => fail(response, 503, error.message, 'server_error'))
})

async function complete(user, chat, response) {
  const prompt = countTokens(chat.messages)
  // What it may cost. After a crash it is not settled: it expires and is refunded after ten minutes.
  const estimate = { requests: 1, tokens: prompt + chat.max_tokens }
  const hold = await limits.reserve(user, { estimate, expiresIn: '10m' })
  if (!hold.allowed) return refuse(response, hold.decision)
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  if (chat.stream) response.writeHead(200, { 'content-type': 'text/event-stream', ...headersOf(hold.decision) })
  const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1_000), model: chat.model }
  const words = []
  try {
    for await (const word of generate(chat, gone.signal)) {
      words.push(word)
      if (chat.stream) send(response, chunk(head, [{ index: 0, delta: { content: word }, finish_reason: null }]))
    }
  } catch (error) {
    await hold.cancel() // who got no answer pays nothing
    console.log(`${user} used 0 tokens: ${error.message}`)
    return fail(response, 500, error.message, 'server_error')
  }
  // What it did cost, also when the client has hung up in the middle.
  const used = prompt + words.length
  let standing = await hold.settle({ tokens: used })
  if (standing.reason === 'reservation-ended') standing = await limits.charge(user, { tokens: used })
  console.log(`${user} used ${used} tokens${gone.signal.aborted ? ': hung up' : ''}`)
  const usage = { prompt_tokens: prompt, completion_tokens: words.length, total_tokens: used }
  const finish = { index: 0, finish_reason: words.length < chat.max_tokens ? 'stop' : 'length' }
  if (chat.stream) {
    send(response, chunk(head, [{ ...finish, delta: {} }]))
    send(response, { ...chunk(head, []), usage })
    response.end('data: [DONE]\n\n')
  } else {
    const choices = [{ ...finish, message: { role: 'assistant', content: words.join('') } }]
    reply(response, 200, { ...head, object: 'chat.completion', choices, usage }, headersOf(standing))
  }
}

function checked(body) {
  const { model = 'echo', messages, max_tokens = 256, stream = false } = body ?? {}
  const areTexts = Array.isArray(messages) && messages.every((message) => typeof message?.content === 'string')
  const isEnough = Number.isInteger(max_tokens) && max_tokens >= 1 && max_tokens <= 4_096
  return areTexts && messages.length > 0 && isEnough ? { model, messages, max_tokens, stream } : undefined
}

function refuse(response, decision, headers = headersOf(decision)) {
  const { limitedBy, reason, retryAfterMs } = decision
  // More than a whole day's budget: no waiting would help, so the response has no Retry-After.
  if (reason === 'cost-exceeds-limit') {
    return reply(response, 413, errorOf(`too many ${limitedBy} for one request`, limitedBy), headers)
  }
  const error = errorOf(`not enough ${limitedBy}: try again in ${retryAfterMs} ms`, limitedBy, 'rate_limit_exceeded')
  reply(response, 429, error, { ...headers, 'retry-after': Math.ceil(retryAfterMs / 1_000) })
}

function headersOf({ tiers }) {
  const headers = {}
  for (const [name, { limit, remaining }] of Object.entries(tiers)) {
    headers[`x-ratelimit-limit-${name}`] = limit
    headers[`x-ratelimit-remaining-${name}`] = remaining
  }
  return headers
}

const chunk = (head, choices) => ({ ...head, object: 'chat.completion.chunk', choices })
const errorOf = (message, type, code = null) => ({ error: { message, type, param: null, code } })
const send = (response, data) => response.write(`data: ${JSON.stringify(data)}\n\n`)

function reply(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(`${JSON.stringify(body)}\n`)
}

function fail(response, status, message, type = 'invalid_request_error') {
  if (response.headersSent) response.end(`data: ${JSON.stringify(errorOf(message, type))}\n\n`)
  else reply(response, status, errorOf(message, type))
}

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`POST http://127.0.0.1:${server.address().port}/v1/chat/completions`)
})
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(closeLimits)
    server.closeAllConnections()
  })
}
