export { type AddressKeyOptions, addressKey } from './address-key.ts'
export { type ClientAddress, clientAddress, type TrustProxy } from './client-address.ts'
export {
  composeHeaderFields as headerLines,
  type HeaderField,
  type HeaderFormat,
  type Limited,
  listLimits as limitsOf,
  setHeaderFields as putLines,
} from './header-fields.ts'
export { partitionKey } from './partition-key.ts'
export { composeRefusal as refusalOf, PROBLEM_JSON, type Problem, type Refusal } from './refusal.ts'
