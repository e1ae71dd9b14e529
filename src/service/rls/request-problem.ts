/** A request that cannot be decided. Its message is for the one who configures Envoy. */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem'
}
