import { describe, expect, it } from 'vitest'
import { runs } from '../effort.ts'
import { playLateWindow } from './late-window.ts'
import { mutants } from './mutants.ts'
import { rules } from './rules.ts'
import { kill, playMany, surroundings } from './schedules.ts'

// The short form of `npm run prove:prefetch`.
describe.each(Object.entries(surroundings))('with prefetch, %s', (_, around) => {
  it.each(Object.entries(rules))('%s itself admits all that processes admit, each at its time', (_name, rule) => {
    const { over, late, local, seed } = playMany(rule, Math.ceil(runs('long') / 4), 3_000, around)
    expect({ over, late, seed }).toEqual({ over: 0, late: 0, seed: undefined })
    expect(local).toBeGreaterThan(0)
  })
})

it.each(Object.entries(rules))('%s itself admits what is spent of a grant from the window before', (_, rule) => {
  expect(playLateWindow(rule)).toBe(0)
})

// That which needs many schedules to show itself is for the command.
const quick = Object.keys(mutants).filter((name) => !name.includes('guard'))

it.each(quick)('the schedules find out a process or a server that %s', (name) => {
  expect(kill(name, 30, 6_000)).toBeDefined()
})
