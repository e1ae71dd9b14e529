// A body that somebody has put aside unread is never told so: it has ended when nothing refers to it any more.
const forgotten = new FinalizationRegistry<() => Promise<void>>((end) => void end())

/**
 * The response, which calls `end` when its body is over: with the status when it was read to its end, or there is none to read;
 * with `undefined` when the reader has given it up or it failed. Its body ends only after `end` has.
 */
export async function untilRead<Answer extends Response | undefined>(
  response: Answer,
  method: string,
  end: (status: number | undefined) => Promise<void>,
): Promise<Answer> {
  // Servers do not read what they need not send.
  if (response === undefined || response.body === null || method === 'HEAD') {
    await end(response?.status)
    return response
  }
  const { body, status } = response
  const reader = body.getReader()
  const stream = new ReadableStream(
    {
      async pull(controller) {
        const part = await reader.read().catch(async (error: unknown) => {
          await end(undefined)
          throw error
        })
        if (!part.done) return controller.enqueue(part.value)
        await end(status)
        controller.close()
      },
      async cancel(reason) {
        await Promise.all([end(undefined), reader.cancel(reason)])
      },
    },
    // Nothing is read ahead of the one who reads.
    { highWaterMark: 0 },
  )
  forgotten.register(stream, () => end(undefined))
  return new Response(stream, response) as Answer
}
