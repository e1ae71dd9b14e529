import { describeProperties } from '../../../test/rule-properties.ts'
import { promises } from './concurrency.promises.ts'

describeProperties(promises)
