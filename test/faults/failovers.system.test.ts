import { scenarios } from '../../faults/scenarios.ts'
import { faultTests } from './fault-tests.ts'

// Servers that are replaced, and networks that are slow or lose replies.
faultTests(scenarios.failovers)
