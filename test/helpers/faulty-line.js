/**
 * A bad line to an HTTP server: requests and answers are refused, cut or altered as the test says.
 */
import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import { buffer } from 'node:stream/consumers'

/**
 * @typedef {'pass' | 'busy' | 'cut' | 'flip' | 'silent' | 'stall' | 'missing' | 'page'} Fault - `busy`: 503 instead of an
 *   answer; `cut`: the connection ends after half of the answer's body; `flip`: one bit of the request's body arrives as
 *   another; `silent`: no answer; `stall`: nothing follows half of the answer's body; `missing`: 404; `page`: 200 with
 *   something for people
 *
 * @typedef {object} PassingRequest
 * @property {number} number - from 1
 * @property {string} method
 * @property {number} bytes - of its body
 */

/**
 * @param {import('node:test').TestContext} t
 * @param {string} endpoint - of the server, http://host:port
 * @param {(request: PassingRequest) => Fault} faultOf
 * @returns {Promise<{ endpoint: string, faults: Fault[] }>} the other end of the line, and what happened there
 */
export async function startFaultyLine(t, endpoint, faultOf) {
  /** @type {Fault[]} */
  const faults = []
  const { hostname, port } = new URL(endpoint)
  const line = createServer(async (request, response) => {
    const body = await buffer(request)
    const { method = 'GET', url = '/', headers } = request
    const fault = faultOf({ number: faults.length + 1, method, bytes: body.length })
    faults.push(fault)
    if (fault === 'busy') {
      response.writeHead(503, { 'content-length': 0 }).end()
      return
    }
    if (fault === 'silent') return
    if (fault === 'missing') {
      response.writeHead(404, { 'content-length': 0 }).end()
      return
    }
    if (fault === 'page') {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Back soon</html>')
      return
    }
    if (fault === 'flip' && body.length > 0)
      body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 1
    // The Host header stays: the client has signed it.
    const forwarded = send({ hostname, port, method, path: url, headers })
    forwarded.end(body)
    const [answer] = /** @type {[import('node:http').IncomingMessage]} */ (
      await once(forwarded, 'response')
    )
    const bytes = await buffer(answer)
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    if (fault === 'cut')
      response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy())
    else if (fault === 'stall') response.write(bytes.subarray(0, bytes.length >> 1))
    else response.end(bytes)
  })
  line.listen(0, '127.0.0.1')
  await once(line, 'listening')
  t.after(() => {
    line.close()
    line.closeAllConnections()
  })
  const { port: linePort } = /** @type {import('node:net').AddressInfo} */ (line.address())
  return { endpoint: `http://127.0.0.1:${linePort}`, faults }
}
