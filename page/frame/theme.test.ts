import { expect, it } from 'vitest'
import { nextTheme, readTheme } from './theme.ts'

it('follows the system until the user chooses', () => {
  expect([readTheme(null), readTheme('dark'), readTheme('light'), readTheme('purple')]).toEqual([
    'system',
    'dark',
    'light',
    'system',
  ])
})

it('goes through all the choices and starts again', () => {
  expect([nextTheme('system'), nextTheme('light'), nextTheme('dark')]).toEqual(['light', 'dark', 'system'])
})
