export { type AddressKeyOptions, addressKey } from './address-key.ts'
export { type ClientAddress, clientAddress, type TrustProxy } from './client-address.ts'
export {
  composeHeaderFields,
  type HeaderField,
  type HeaderFormat,
  type Limited,
  listLimits,
  setHeaderFields,
} from './header-fields.ts'
export { partitionKey } from './partition-key.ts'
export { composeRefusal, PROBLEM_JSON, type Problem, type Refusal } from './refusal.ts'
