import { describeProperties } from '../../../test/rule-properties.ts'
import { promises } from './sliding-window.promises.ts'

describeProperties(promises)
