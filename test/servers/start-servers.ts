import { type RunningServer, type StartOptions, startServer } from './start-server.ts'

/** Starts servers side by side: all of them, or none when one does not start. */
export async function startServers(options: readonly StartOptions[]): Promise<RunningServer[]> {
  const outcomes = await Promise.allSettled(options.map(startServer))
  const servers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failure === undefined) return servers
  await stopServers(servers)
  throw failure.reason
}

/** Ends servers and removes their folders. May be called again. */
export async function stopServers(servers: readonly RunningServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()))
}
