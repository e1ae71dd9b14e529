// Writes docs/api-report.txt, every public name with its type: npm run api
import { writeFileSync } from 'node:fs'
import { composeApiReport } from './api-report.mjs'

writeFileSync(new URL('../docs/api-report.txt', import.meta.url), composeApiReport())
