import { IncomingMessage, ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'

const HEADERS = ['Host', '127.0.0.1', 'User-Agent', 'bench', 'Accept', '*/*']

/** Where a connection would be: it takes what is written. */
class Line extends Duplex {
  remoteAddress
  written = []

  constructor(remoteAddress) {
    super({ autoDestroy: false })
    this.remoteAddress = remoteAddress
  }

  _read() {}

  _write(chunk, _encoding, done) {
    this.written.push(chunk)
    done()
  }

  _writev(chunks, done) {
    for (const { chunk } of chunks) this.written.push(chunk)
    done()
  }

  setTimeout() {}
}

/** Answers with a function that sends a request to a server of Node, without a connection, and resolves with the answer as text. */
export function requestsTo(server) {
  const lines = Array.from({ length: 16 }, (_, index) => new Line(`127.0.0.${index + 1}`))
  let turn = 0
  return () =>
    new Promise((resolve) => {
      turn = (turn + 1) % lines.length
      const line = lines[turn]
      const request = new IncomingMessage(line)
      Object.assign(request, { method: 'GET', url: '/', httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 })
      request.rawHeaders = HEADERS.slice()
      // As the parser does, which is why they are found.
      request._addHeaderLines(request.rawHeaders, HEADERS.length)
      request.complete = true
      request.push(null)
      const response = new ServerResponse(request)
      response.assignSocket(line)
      response.on('finish', () => {
        response.detachSocket(line)
        const { written } = line
        line.written = []
        resolve(written)
      })
      server.emit('request', request, response)
    })
}
