import { join } from 'node:path'
import { build } from 'esbuild'
import { Miniflare, type WorkerOptions } from 'miniflare'

/** A Worker that answers on loopback, in the program that Cloudflare runs Workers with. */
export interface RunningWorker {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Bundles `program` of `folder` as Cloudflare's own tool does, and starts it with these bindings. Throws with the words of workerd when
 * the Worker does not start.
 */
export async function startWorker(
  folder: string,
  program: string,
  bindings: Partial<WorkerOptions> = {},
): Promise<RunningWorker> {
  const outfile = join(folder, `bundled-${program}`)
  await build({
    entryPoints: [join(folder, program)],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    mainFields: ['browser', 'module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*', 'cloudflare:*'],
    // Some packages require the modules of Node without their prefix.
    platform: 'node',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire('/')" },
  })
  const miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: outfile }],
    modulesRoot: folder,
    compatibilityDate: '2025-05-05',
    compatibilityFlags: ['nodejs_compat'],
    // Otherwise it fetches where requests come from.
    cf: false,
    ...bindings,
  } as ConstructorParameters<typeof Miniflare>[0])
  const url = (await miniflare.ready).origin
  return { url, stop: () => miniflare.dispose() }
}
