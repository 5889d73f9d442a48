/**
 * Bytes between a client and the worker that serves it. TLS stays here, because its state cannot move to another process;
 * what crosses the unix socket is plain, and one side reads no more than the other has taken.
 */

/** @import { Socket } from 'node:net' */

/** After our FIN the client may take at most so long to close, ms. */
const LINGER_MS = 5000
/**
 * A client that takes no byte for so long is gone, ms, as in imap/session/connection.js. The holder ends its session by that
 * rule, but its end is not read here while the client takes nothing: so the client is cut here, too.
 */
const STALL_MS = 5 * 60_000

/** Sent only where the holder died: otherwise its own BYE is among the bytes that it sent. */
const BYE = '* BYE The mailbox moved to another process, log in again\r\n'

const CRLF = Buffer.from('\r\n')

/**
 * @param {object} options
 * @param {Socket} options.client - nobody listens to it any more
 * @param {Buffer} options.rest - what the client has sent and nobody has read
 * @param {Socket} options.holder - to the worker that serves the session
 * @param {() => Promise<boolean>} options.isHolderAlive - asked when the holder's side of the connection has ended
 * @returns {Promise<void>} when the client has gone
 */
export function relay({ client, rest, holder, isHolderAlive }) {
  return new Promise((resolve) => {
    let isAtLineEnd = true
    let isEnding = false
    /** @type {NodeJS.Timeout | undefined} */
    let stall
    /** @type {NodeJS.Timeout | undefined} */
    let farewell
    const destroy = () => client.destroy()
    const destroyAfter = (/** @type {number} */ ms) => {
      clearTimeout(farewell)
      farewell = setTimeout(destroy, ms).unref()
    }
    holder.write(rest)

    client.on('data', (chunk) => {
      if (!holder.write(chunk) && holder.writable) client.pause()
    })
    holder.on('drain', () => client.resume())
    // The client may have ended its side right behind its login: whoever read that has had the `end` event already.
    if (client.readableEnded) holder.end()
    else client.on('end', () => holder.end())

    holder.on('data', (chunk) => {
      const bytes = /** @type {Buffer} */ (chunk)
      const tail = bytes.subarray(-2)
      isAtLineEnd = tail.equals(CRLF)
      if (client.write(bytes)) return
      holder.pause()
      stall ??= setTimeout(destroy, STALL_MS).unref()
    })
    client.on('drain', () => {
      clearTimeout(stall)
      stall = undefined
      holder.resume()
    })

    const finish = async () => {
      if (isEnding) return
      isEnding = true
      // After half a line, a BYE would be taken for its rest; and compressed data ends in 00 00 ff ff, so never as a line does.
      if (!(await isHolderAlive()) && isAtLineEnd && client.writable) client.write(BYE)
      // A timer would keep in memory a client that has gone.
      if (client.destroyed) return
      destroyAfter(STALL_MS)
      client.once('finish', () => destroyAfter(LINGER_MS))
      client.end()
    }
    holder.on('end', finish)
    holder.on('close', () => {
      // What the client still sends is dropped: only so is its end heard.
      client.resume()
      finish()
    })
    // A killed worker's socket may end with a reset; 'close' follows, which calls `finish`.
    holder.on('error', () => {})
    client.on('close', () => {
      clearTimeout(stall)
      clearTimeout(farewell)
      holder.destroy()
      resolve()
    })
    client.on('error', destroy)
    if (client.destroyed) {
      holder.destroy()
      resolve()
    } else client.resume()
  })
}
