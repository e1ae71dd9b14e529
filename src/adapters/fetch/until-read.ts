// No event says that a body is left unread: its request ends when the garbage collector finds the body.
const forgotten = new FinalizationRegistry<() => Promise<void>>((end) => void end())

/**
 * Returns the response, which calls `end` when its body is over: with the status when it was read to its end, or has none; with
 * `undefined` when the reader cancelled it or it failed. Its body ends only after `end` has.
 */
export async function untilRead<Answer extends Response | undefined>(
  response: Answer,
  method: string,
  end: (status: number | undefined) => Promise<void>,
): Promise<Answer> {
  // Servers do not read a body that they do not send.
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
    // The stream reads only when its reader does.
    { highWaterMark: 0 },
  )
  forgotten.register(stream, () => end(undefined))
  return new Response(stream, response) as Answer
}
