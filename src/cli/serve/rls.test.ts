import { expect, it } from 'vitest'
import { writePolicies } from '../../../test/cli/policy-file.ts'
import { planRls } from './rls.ts'

const none = () => Promise.reject(new Error("Cannot find package '@grpc/grpc-js'"))

it('needs --rls and --rls-config together', async () => {
  expect(await planRls(undefined)).toBeUndefined()
  await expect(planRls(undefined, ['a.yaml'])).rejects.toThrow(
    '--rls-config is for --rls, such as --rls 127.0.0.1:8081',
  )
  await expect(planRls('127.0.0.1:8081')).rejects.toThrow('--rls needs rate limits: --rls-config <file>')
})

it.each(['8081', '127.0.0.1', '127.0.0.1:x', '127.0.0.1:65536', ':8081'])('refuses the address %s', async (address) => {
  await expect(planRls(address, ['a.yaml'])).rejects.toThrow(
    `--rls must be an address and a port, such as 127.0.0.1:8081, got ${address}`,
  )
})

it('reads addresses of both families, and the files', async () => {
  const file = await writePolicies('domain: shop\n')
  expect(await planRls('[::1]:8081', [file])).toMatchObject({ host: '::1', port: 8_081, configs: [{ domain: 'shop' }] })
  expect(await planRls('localhost:0', [file])).toMatchObject({ host: 'localhost', port: 0 })
})

it('says which package is missing, and how to install it', async () => {
  const file = await writePolicies('domain: shop\n')
  await expect(planRls('127.0.0.1:8081', [file], none)).rejects.toThrow(
    '--rls needs the package @grpc/grpc-js: npm install @grpc/grpc-js',
  )
})

it('says what is wrong with a file, and where, before it needs anything', async () => {
  const file = await writePolicies('domain: shop\ndescriptors: none\n')
  await expect(planRls('127.0.0.1:8081', [file], none)).rejects.toThrow(
    `${file}:2:14: descriptors must be a list, got "none"`,
  )
  await expect(planRls('127.0.0.1:8081', ['/nowhere.yaml'], none)).rejects.toThrow(
    'the rate limits file "/nowhere.yaml" cannot be read: no such file',
  )
})
