import { resolve } from 'node:path'
import ts from 'typescript'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { byUserOrIp, type KeyOf, type NodeOptions } from '../src/adapters/node/index.ts'
import { createLimiter, type Decision, type Duration, fixedWindow, type Limiter } from '../src/index.ts'

const rule = fixedWindow({ limit: 1, window: '1h30m' })

describe('the types of', () => {
  it('a decision are narrowed by allowed, and limitedBy is one of the tiers', async () => {
    const tiered = createLimiter({ name: 'tiers', tiers: { user: rule, ip: { rule, shadow: true } } })
    expectTypeOf(tiered).toEqualTypeOf<Limiter<'user' | 'ip'>>()
    const decision = await tiered.consume({ user: 'a' })
    if (decision.allowed) {
      expectTypeOf(decision.limitedBy).toEqualTypeOf<undefined>()
      expectTypeOf(decision.nextAfterMs).toEqualTypeOf<number>()
    } else {
      expectTypeOf(decision.limitedBy).toEqualTypeOf<'user' | 'ip'>()
      expectTypeOf(decision.retryAfterMs).toEqualTypeOf<number>()
    }
    expectTypeOf<Decision<'user'>>().toExtend<Decision>()
    const single = createLimiter({ name: 'one', rule })
    expectTypeOf(single).toEqualTypeOf<Limiter>()
    const answer = await single.consume('a')
    if (!answer.allowed) expectTypeOf(answer.limitedBy).toEqualTypeOf<string>()
    // @ts-expect-error There is no such tier.
    await expect(tiered.consume({ usr: 'a' })).rejects.toThrow('usr')
  })

  it('a duration take what the rules take', () => {
    expectTypeOf<'500ms' | '1s' | '1m' | '1h30m' | '1d' | 60_000>().toExtend<Duration>()
    expectTypeOf<`${number}s`>().toExtend<Duration>()
    expectTypeOf<'soon' | '5 seconds'>().not.toExtend<Duration>()
    // @ts-expect-error A window has a unit that is known.
    expect(() => fixedWindow({ limit: 1, window: '1x' })).toThrow('window must be a duration')
  })

  it('a hoisted key keep the type of its request', () => {
    const key = byUserOrIp((request: { readonly user?: string; readonly headers: object }) => request.user)
    expectTypeOf(key).parameter(0).toEqualTypeOf<{ readonly user?: string; readonly headers: object }>()
  })

  it('a key take whole numbers, alone and in a tier', () => {
    expectTypeOf<() => number | bigint | undefined>().toExtend<KeyOf<unknown>>()
    expectTypeOf<() => boolean>().not.toExtend<KeyOf<unknown>>()
    expectTypeOf<{ user: () => Promise<number>; ip: () => string }>().toExtend<NodeOptions<'user' | 'ip'>['key']>()
  })
})

/** The messages of the compiler, and the names that it offers, for a program that ends in `createLimiter({ … })`. */
function compile(call: string): { messages: readonly string[]; offers: readonly string[] } {
  const file = resolve(import.meta.dirname, '../src/public-types.example.ts')
  const text = `import { createLimiter, fixedWindow } from './index.ts'\nconst rule = fixedWindow({ limit: 1, window: '1m' })\n${call}\n`
  const { config } = ts.readConfigFile(resolve(import.meta.dirname, '../tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [] },
    ts.sys,
    resolve(import.meta.dirname, '..'),
  )
  const service = ts.createLanguageService({
    getCurrentDirectory: ts.sys.getCurrentDirectory,
    directoryExists: ts.sys.directoryExists,
    readFile: ts.sys.readFile,
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (name) => {
      const read = name === file ? text : ts.sys.readFile(name)
      return read === undefined ? undefined : ts.ScriptSnapshot.fromString(read)
    },
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
  })
  const said = service
    .getSemanticDiagnostics(file)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  const at = text.lastIndexOf('createLimiter({ ') + 'createLimiter({ '.length
  const entries = service.getCompletionsAtPosition(file, at, undefined)?.entries ?? []
  return { messages: said, offers: entries.map(({ name }) => name) }
}

describe('the compiler', () => {
  it('offers rule and tiers, and says in one message that a name is missing', () => {
    const { messages, offers } = compile('createLimiter({ rule })')
    expect(offers).toEqual(expect.arrayContaining(['name', 'tiers', 'blockFor']))
    expect(messages).toHaveLength(1)
    expect(messages[0]).toContain("Property 'name' is missing in type")
    expect(messages[0]).not.toContain('overload')
  })

  it('offers name, rule and tiers between empty braces, and says that they are missing', () => {
    const { messages, offers } = compile('void rule\ncreateLimiter({ })')
    expect(offers).toEqual(expect.arrayContaining(['name', 'rule', 'tiers']))
    expect(messages).toEqual([
      [
        "Argument of type '{}' is not assignable to parameter of type 'RuleOrTiers<never>'.",
        "  Type '{}' is missing the following properties from type 'EitherRuleOrTiers': rule, tiers, name",
      ].join('\n'),
    ])
  })

  it('says in one message that a limiter needs a rule or tiers', () => {
    const { messages } = compile("void rule\ncreateLimiter({ name: 'api' })")
    expect(messages).toHaveLength(1)
    expect(messages[0]).toContain("not assignable to parameter of type 'RuleOrTiers<never>'")
    expect(messages[0]).toMatch(/is missing the following properties from type 'EitherRuleOrTiers': rule, tiers$/)
  })

  it('says in one message that a limiter has only one of rule and tiers', () => {
    const { messages } = compile("createLimiter({ name: 'api', rule, tiers: { user: rule } })")
    expect(messages).toHaveLength(1)
    expect(messages[0]).toMatch(
      /Types of property '(rule|tiers)' are incompatible|is not assignable to type 'undefined'/,
    )
  })

  it('lets a function of yours read the options, and pass them on with others', () => {
    const options = "options: import('./index.ts').RuleOrTiers"
    const { messages } = compile(
      `const wrap = (${options}) => [options.name, createLimiter({ ...options, timeout: '1s' })]\nvoid [rule, wrap]`,
    )
    expect(messages).toEqual([])
  })
})
