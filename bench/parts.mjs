import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The parts that run on a server of Redis: each has `run`, which resolves with its reports. Loaded when they are asked for. */
export const parts = {
  redis: () => import('./parts/redis.mjs'),
  'hot-key': () => import('./parts/hot-key.mjs'),
  attack: () => import('./parts/attack.mjs'),
  alone: () => import('./parts/alone.mjs'),
  tiers: () => import('./parts/tiers.mjs'),
  growth: () => import('./parts/growth.mjs'),
  accuracy: () => import('./parts/accuracy.mjs'),
}

/** The parts that are programs of their own and write their own reports. A smoke run takes one subject, or one round, of each. */
export const commands = {
  async memory({ quick }) {
    const { subjects } = await import('./memory-subjects.mjs')
    await node('--expose-gc', script('memory'), ...(quick ? [Object.keys(subjects)[0]] : []))
  },
  async http({ quick }) {
    const { nameOf, subjects } = await import('./http-subjects.mjs')
    await node(script('http'), quick ? nameOf(subjects[0]) : '--write')
  },
  'redis-cost': ({ quick }) => node(script('redis-cost'), quick ? '--quick' : '--write'),
}

function script(name) {
  return fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))
}

async function node(...args) {
  const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')
  if (code !== 0) throw new Error(`it ended with ${code}`)
}
