import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { fakeProgram } from '../servers/fake-program.ts'
import { findGateways } from './find-gateways.ts'

const INSTALL = 'run "apt-get install nginx caddy haproxy apache2 lua-socket"'

/** A machine that has nothing, in an empty folder. */
const emptyMachine = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-machine-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return { folder, roots: { cache: join(folder, 'cache'), machine: folder } }
}

it('names what to install where no package can be fetched', async () => {
  const { folder, roots } = await emptyMachine()
  await expect(findGateways({ PATH: folder }, roots)).rejects.toThrow(
    `no proxies found, and without apt-get none can be fetched: ${INSTALL}`,
  )
})

it('names what to install where the fetch fails, and not which server has failed', async () => {
  const { folder, roots } = await emptyMachine()
  const body = 'if [ "$1" = update ]; then echo "no route to packages.internal" >&2; exit 100; fi'
  await fakeProgram(join(folder, 'apt-get'), body)
  await expect(findGateways({ PATH: folder }, roots)).rejects.toThrow(
    `could not fetch nginx, Caddy, HAProxy and Apache, "apt-get update" ended with 100: ${INSTALL}`,
  )
})

it('names what to install where the packages lack a proxy', async () => {
  const { folder, roots } = await emptyMachine()
  await fakeProgram(join(folder, 'apt-get'), 'exit 0')
  await expect(findGateways({ PATH: folder }, roots)).rejects.toThrow(
    `the fetched packages do not have all proxies: ${INSTALL}`,
  )
})
