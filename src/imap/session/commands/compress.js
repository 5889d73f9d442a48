/**
 * COMPRESS turns on compression of both directions, right behind its tagged OK. What the client has sent behind its
 * COMPRESS without waiting is compressed already.
 *
 * TLS never compresses here: the OpenSSL that Node is built with cannot, so there is nothing to do twice.
 *
 * State: authenticated, selected (RFC 4978 §5: command-auth; what a stranger sends is never inflated).
 * Command: RFC 4978 §3. Response code: RFC 4978 §3 (COMPRESSIONACTIVE).
 */
import { CODE } from '../../protocol/compile/response-code.js'
import { tagged } from '../../protocol/compile/status-response.js'
import { badSyntax } from '../../protocol/syntax-failure.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @type {Command} */
export const compress = {
  name: 'COMPRESS',
  states: AUTHENTICATED,
  allowsExpunge: false,
  async run({ connection }, /** @type {{ algorithm: string }} */ { algorithm }, { tag }) {
    if (algorithm !== 'DEFLATE') throw badSyntax('DEFLATE is the only algorithm')
    // NO is for compression by another layer.
    if (connection.isCompressed) {
      return { status: 'BAD', code: CODE.compressionActive, text: 'Compression is on already' }
    }
    connection.compress(tagged(tag, 'OK', null, 'Everything is compressed from here on'))
    return { text: 'COMPRESS completed', isAnswered: true }
  }
}
