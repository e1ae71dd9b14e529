import { describeProperties } from '../../../test/rule-properties.ts'
import { promises } from './fixed-window.promises.ts'

describeProperties(promises)
