import { scenarios } from '../../faults/scenarios.ts'
import { faultTests } from './fault-tests.ts'

// Processes that prefetch: all that passes is put to the rule itself.
faultTests(scenarios.prefetch)
