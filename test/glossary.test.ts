import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

// One word an idea, and the field's word where the field has one. These were words of our own.
const GONE =
  /shel(f|ves)$|^desk|teller|parcel|courier|passage|manner$|telling|waitingroom|waitingline|^owed|scorebook|^lineup|^ahead$|demand(?!s)|statecells|packedcells|^comesback$/i

const root = fileURLToPath(new URL('..', import.meta.url))
const paths = readdirSync(`${root}/src`, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
)

it('no file in src has a word of our own in its name', () => {
  const names = paths.flatMap((path) => path.split('/').map((name) => name.replace(/\..*$/, '').replaceAll('-', '')))
  expect(names.filter((name) => GONE.test(name))).toEqual([])
})

it('nothing that src declares has a word of our own in its name', () => {
  const declared = /\b(?:class|interface|type|function|const|let) +([A-Za-z]+)|#([a-z][A-Za-z]*)\b/g
  const found = paths.flatMap((path) => {
    const names = [...readFileSync(`${root}/src/${path}`, 'utf8').matchAll(declared)]
    return names
      .map(([, name, field]) => name ?? field ?? '')
      .filter((name) => GONE.test(name))
      .map((name) => `${path}: ${name}`)
  })
  expect(found).toEqual([])
})

it('functions of the engine and the rules are verbs', () => {
  const inside = paths.filter((path) => /^(engine|rules)\//.test(path))
  const declared = inside.flatMap((path) => {
    return [...readFileSync(`${root}/src/${path}`, 'utf8').matchAll(/\bfunction ([A-Za-z]+)/g)].map(
      ([, name]) => name ?? '',
    )
  })
  expect(declared).toContain('stepPlain')
  expect(declared.filter((name) => /^([a-z]+(ed|ing)|found|judge)$|Of$/.test(name))).toEqual([])
})

it('no function is called xOf', () => {
  const found = paths.flatMap(
    (path) => readFileSync(`${root}/src/${path}`, 'utf8').match(/\b(?:function|const) [a-z][A-Za-z]*Of\b/g) ?? [],
  )
  expect(found).toEqual(['function oneOf'])
})
