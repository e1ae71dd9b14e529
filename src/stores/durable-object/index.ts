export {
  type DurableObjectStorage,
  type DurableObjectStore,
  durableObjectStore,
} from './durable-object-store.ts'
