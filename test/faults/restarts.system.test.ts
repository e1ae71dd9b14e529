import { scenarios } from '../../faults/scenarios.ts'
import { faultTests } from './fault-tests.ts'

// Servers that are killed, restarted, or not there yet.
faultTests(scenarios.restarts)
