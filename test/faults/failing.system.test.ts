import { scenarios } from '../../faults/scenarios.ts'
import { faultTests } from './fault-tests.ts'

// Servers that forget, are full, or are wrong about the time.
faultTests(scenarios.failing)
