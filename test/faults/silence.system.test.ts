import { scenarios } from '../../faults/scenarios.ts'
import { faultTests } from './fault-tests.ts'

// Servers that do not say a word.
faultTests(scenarios.silence)
