import { expect, it, onTestFinished } from 'vitest'
import { ask } from './ask.ts'
import { freePort } from './free-port.ts'
import { startServers, stopServers } from './start-servers.ts'

it('starts every server, in the order of the options', async () => {
  const servers = await startServers([{ args: ['--maxclients', '41'] }, { args: ['--maxclients', '42'] }])
  onTestFinished(() => stopServers(servers))
  const replies = await Promise.all(servers.map((server) => ask(server, 'CONFIG', 'GET', 'maxclients')))
  expect(replies).toEqual([
    ['maxclients', '41'],
    ['maxclients', '42'],
  ])
})

it('leaves none behind when one does not start', async () => {
  const port = await freePort()
  const good = { pickPort: async () => port }
  await expect(startServers([good, { args: ['--no-such-option', '1'] }])).rejects.toThrow('no-such-option')
  await expect(ask({ host: '127.0.0.1', port }, 'PING')).rejects.toThrow('ECONNREFUSED')
})
