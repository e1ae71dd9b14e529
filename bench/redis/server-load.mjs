const SCRIPTS = /^cmdstat_(?:eval|evalsha|fcall):calls=(\d+),usec=(\d+)/gm

/**
 * What `work` makes the server do: `calls` of scripts and the `scriptUs` in them, `cpuUs` of the thread that runs all commands,
 * reading and answering included, and the bytes `received` and `sent`. Nobody else may use the server meanwhile.
 */
export async function serverLoad(redis, work) {
  await redis.config('RESETSTAT')
  const cpuBefore = await cpuUs(redis)
  const result = await work()
  const cpu = (await cpuUs(redis)) - cpuBefore
  const info = await redis.info('stats', 'commandstats')
  const field = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)[1])
  const bytes = { received: field('total_net_input_bytes'), sent: field('total_net_output_bytes') }
  return { ...result, ...sumScripts(info), cpuUs: cpu, ...bytes }
}

/** The `calls` of scripts so far and the `scriptUs` in them, by the answer to `INFO commandstats`. */
export function sumScripts(info) {
  let calls = 0
  let scriptUs = 0
  for (const [, count, us] of info.matchAll(SCRIPTS)) {
    calls += Number(count)
    scriptUs += Number(us)
  }
  return { calls, scriptUs }
}

async function cpuUs(redis) {
  const seconds = (await redis.info('cpu')).matchAll(/^used_cpu_(?:user|sys)_main_thread:([\d.]+)/gm)
  return Array.from(seconds, ([, text]) => 1e6 * Number(text)).reduce((sum, part) => sum + part, 0)
}
