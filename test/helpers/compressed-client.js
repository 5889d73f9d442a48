/**
 * An IMAP client that has turned on COMPRESS (RFC 4978): its own inflater and deflater, so that tests see which bytes
 * are compressed and when they come.
 */
import { constants, createDeflateRaw, createInflateRaw } from 'node:zlib'
import { WireClient } from './wire-client.js'
import { PASSWORD } from './server.js'

/** A pattern is looked for in the last so many characters of an answer only. */
const SEARCHED_END = 64 * 1024

/** Both directions compressed; commands and answers as with a WireClient. */
export class CompressedClient {
  #deflate = createDeflateRaw()
  #inflate = createInflateRaw({ finishFlush: constants.Z_SYNC_FLUSH })
  #text = ''
  #tagNumber = 0
  /** @type {(() => void) | null} */
  #wake = null
  /** Bytes from the network since compression is on. */
  wireBytes = 0
  /** Bytes that the bytes from the network inflate to. */
  plainBytes = 0
  isClosed = false

  /** @param {WireClient} wire - that has just had the OK to its COMPRESS */
  constructor(wire) {
    this.wire = wire
    const { socket } = wire
    socket.removeAllListeners('data')
    this.#inflate.on('data', (chunk) => {
      this.plainBytes += chunk.length
      this.#text += chunk.toString('latin1')
      this.#wake?.()
    })
    this.#deflate.on('data', (chunk) => socket.write(chunk))
    const take = (/** @type {Buffer} */ chunk) => {
      this.wireBytes += chunk.length
      this.#inflate.write(chunk)
    }
    if (wire.received.length > 0) take(wire.received)
    socket.on('data', take)
    // The last bytes may still be in the inflater.
    socket.on('close', () => this.#inflate.end())
    for (const event of ['end', 'error', 'close']) {
      this.#inflate.on(event, () => {
        this.isClosed = true
        this.#wake?.()
      })
    }
  }

  /**
   * @param {{ port: number, tlsPort: number }} server
   * @param {{ user?: string, isTls?: boolean }} [options]
   * @returns {Promise<CompressedClient>} logged in
   */
  static async connect({ port, tlsPort }, { user = 'alice', isTls = false } = {}) {
    const wire = await WireClient.connect(isTls ? tlsPort : port, { isTls })
    await wire.login(user, `"${PASSWORD}"`)
    const answer = await wire.command('COMPRESS DEFLATE')
    if (!/ OK /.test(answer)) throw new Error(answer)
    return new CompressedClient(wire)
  }

  /**
   * @param {string | Buffer} bytes
   * @returns {Promise<void>} when they have been written
   */
  send(bytes) {
    this.#deflate.write(bytes)
    return new Promise((resolve) => {
      this.#deflate.flush(constants.Z_SYNC_FLUSH, () => resolve())
    })
  }

  /**
   * @param {RegExp} pattern
   * @returns {Promise<string>} everything up to the end of its first match, latin1
   */
  async until(pattern) {
    for (;;) {
      // Of a long answer only the end is looked at: it comes in some hundred pieces.
      const start = this.#text.length > SEARCHED_END ? this.#text.length - SEARCHED_END : 0
      const match = pattern.exec(this.#text.slice(start))
      if (match) {
        const end = start + match.index + match[0].length
        const taken = this.#text.slice(0, end)
        this.#text = this.#text.slice(end)
        return taken
      }
      if (this.isClosed) throw new Error(`closed while waiting, after:\n${this.#text.slice(-500)}`)
      await new Promise((resolve) => {
        this.#wake = () => resolve(undefined)
      })
    }
  }

  /**
   * @param {string} text - a command without its tag
   * @param {Buffer} [literal] - a non-synchronising one behind it
   * @returns {Promise<string>} up to the tagged reply
   */
  async command(text, literal) {
    const tag = `z${++this.#tagNumber}`
    const line = literal ? `${tag} ${text} {${literal.length}+}\r\n` : `${tag} ${text}\r\n`
    this.send(
      Buffer.concat([
        Buffer.from(line),
        literal ?? Buffer.alloc(0),
        Buffer.from(literal ? '\r\n' : '')
      ])
    )
    return await this.until(new RegExp(`(^|\\r\\n)${tag} [^\\r]*\\r\\n`))
  }

  /** Ends the connection at once. */
  destroy() {
    this.wire.destroy()
    this.#deflate.destroy()
    this.#inflate.destroy()
  }
}
