import { scenarios } from '../../faults/scenarios.ts'
import { faultTests } from './fault-tests.ts'

// Servers that are replaced, slow, forgetful, full, or wrong about the time.
faultTests(scenarios.failing)
