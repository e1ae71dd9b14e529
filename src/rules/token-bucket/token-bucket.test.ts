import { describeProperties } from '../../../test/rule-properties.ts'
import { promises } from './token-bucket.promises.ts'

describeProperties(promises)
