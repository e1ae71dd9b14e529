import { scenarios } from '../../faults/scenarios.ts'
import { faultTests } from './fault-tests.ts'

// Servers that are not there, or do not say a word.
faultTests(scenarios.gone)
