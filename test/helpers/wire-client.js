/**
 * A bare IMAP or LMTP connection for tests that care about bytes and moments: when which byte was sent,
 * and what came back before the connection died.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** One connection; everything received is kept as bytes. */
export class WireClient {
  /**
   * Received bytes lie in it from #start to #end. Bytes that were given away are never overwritten.
   *
   * @type {Buffer}
   */
  #buffer = Buffer.alloc(0)
  #start = 0
  #end = 0
  /** Bytes that were taken since the connection began. */
  #taken = 0
  #tagNumber = 0
  /** @type {Promise<unknown>} */
  #turn = Promise.resolve()
  /** @type {Set<() => void>} */
  #waiting = new Set()

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket
    this.isClosed = false
    // A small write must not wait for the other side's delayed acknowledgement of the one before.
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      this.#add(chunk)
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
      this.#wake()
    })
  }

  /**
   * @param {number} port - on 127.0.0.1
   * @param {{ isTls?: boolean }} [options]
   * @returns {Promise<WireClient>} after the greeting
   */
  static async connect(port, { isTls = false } = {}) {
    const socket = isTls
      ? connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false })
      : connect({ host: '127.0.0.1', port })
    const client = new WireClient(socket)
    await once(socket, isTls ? 'secureConnect' : 'connect')
    await client.until(/^(\* |220 ).*\r\n/)
    return client
  }

  #wake() {
    for (const wake of this.#waiting) wake()
  }

  /** @param {Buffer} chunk */
  #add(chunk) {
    const size = this.#end - this.#start
    if (size === 0) {
      this.#buffer = chunk
      this.#start = this.#end = 0
    } else if (this.#end + chunk.length > this.#buffer.length) {
      // Twice as much, so that a long answer is not copied once for each of its chunks.
      const larger = Buffer.allocUnsafeSlow(2 * (size + chunk.length))
      this.#buffer.copy(larger, 0, this.#start, this.#end)
      this.#buffer = larger
      this.#start = 0
      this.#end = size
    }
    if (size > 0) chunk.copy(this.#buffer, this.#end)
    this.#end += chunk.length
  }

  /** @returns {Buffer} bytes that were received and not taken yet */
  get received() {
    return this.#buffer.subarray(this.#start, this.#end)
  }

  /** @param {string | Buffer} bytes */
  send(bytes) {
    this.socket.write(bytes)
  }

  /**
   * Sends, and waits until there is room for more, or the connection has ended.
   *
   * @param {string | Buffer} bytes
   */
  async pour(bytes) {
    const { socket } = this
    if (this.isClosed || socket.write(bytes)) return
    await new Promise((resolve) => {
      const goOn = () => {
        socket.off('drain', goOn).off('close', goOn)
        resolve(undefined)
      }
      socket.on('drain', goOn).on('close', goOn)
    })
  }

  /** Waits until more has come. */
  async #more() {
    if (this.isClosed) {
      const tail = this.received.toString('latin1').slice(-2000)
      throw new Error(`closed while waiting, after:\n${tail}`)
    }
    await new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake)
        resolve(undefined)
      }
      this.#waiting.add(wake)
    })
  }

  /**
   * @param {number} size - bytes
   * @returns {Promise<Buffer>} exactly as many
   */
  async take(size) {
    while (this.#end - this.#start < size) await this.#more()
    const taken = this.#buffer.subarray(this.#start, this.#start + size)
    this.#start += size
    this.#taken += size
    return taken
  }

  /** @returns {Promise<string>} the next line with its CRLF, latin1 */
  async line() {
    for (;;) {
      const end = this.received.indexOf('\r\n')
      if (end >= 0) return (await this.take(end + 2)).toString('latin1')
      await this.#more()
    }
  }

  /**
   * Takes everything up to the end of the first match (latin1) and gives it.
   *
   * @param {RegExp} pattern
   * @returns {Promise<string>} latin1
   * @throws {Error} when the connection ends first; `message` has what came
   */
  async until(pattern) {
    for (;;) {
      const text = this.received.toString('latin1')
      const match = pattern.exec(text)
      if (match) return (await this.take(match.index + match[0].length)).toString('latin1')
      await this.#more()
    }
  }

  /**
   * Takes everything up to the end of a tagged answer, as `until` would, and looks at no byte of a long one twice.
   *
   * @param {string} tag
   * @returns {Promise<string>} latin1
   */
  async #answer(tag) {
    const begin = Buffer.from(`\r\n${tag} `)
    let from = this.#taken
    for (;;) {
      const { received } = this
      const isFirst = received.subarray(0, begin.length - 2).equals(begin.subarray(2))
      const at = isFirst ? 0 : received.indexOf(begin, Math.max(0, from - this.#taken))
      const end = at < 0 ? -1 : received.indexOf('\r\n', at + 2)
      if (end >= 0) return (await this.take(end + 2)).toString('latin1')
      from = this.#taken + (at < 0 ? Math.max(0, received.length - begin.length) : at)
      await this.#more()
    }
  }

  /**
   * Sends one command under a fresh tag and waits for its tagged answer. Several may be on their way: the
   * answers come in the order of the commands.
   *
   * @param {string} text
   * @param {Buffer} [literal] - appended as a non-synchronising literal
   * @returns {Promise<string>} latin1: untagged data and the tagged line
   */
  command(text, literal) {
    const tag = `w${++this.#tagNumber}`
    const size = literal ? ` {${literal.length}+}` : ''
    this.send(`${tag} ${text}${size}\r\n`)
    if (literal) {
      this.send(literal)
      this.send('\r\n')
    }
    const answer = this.#turn.then(() => this.#answer(tag))
    this.#turn = answer.catch(() => undefined)
    return answer
  }

  /**
   * @param {string} user
   * @param {string} [password]
   */
  async login(user, password = 'pass') {
    const answer = await this.command(`LOGIN ${user} ${password}`)
    if (!/^w\d+ OK/m.test(answer)) throw new Error(answer)
  }

  /** Ends the connection at once. */
  destroy() {
    this.socket.destroy()
  }
}

/**
 * Delivers one message over an LMTP connection.
 *
 * @param {WireClient} client - after the greeting and LHLO
 * @param {{ to: string, message: Buffer | string, from?: string }} delivery
 * @returns {Promise<string>} the reply to the message, for instance `250 2.0.0 …`; or an earlier reply that refused it
 */
export async function deliverOver(client, { to, message, from = 'sender@example.net' }) {
  for (const line of [`MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA']) {
    client.send(`${line}\r\n`)
    const reply = await client.until(/^\d{3} [^\r]*\r\n/m)
    if (!/^[23]/m.test(reply)) return reply.trim()
  }
  const text = message.toString('latin1').replace(/(^|\n)\./g, '$1..')
  client.send(Buffer.from(text.endsWith('\r\n') ? text : `${text}\r\n`, 'latin1'))
  client.send('.\r\n')
  return (await client.until(/^\d{3} [^\r]*\r\n/m)).trim()
}

/**
 * @param {number} port
 * @returns {Promise<WireClient>} after LHLO
 */
export async function connectLmtp(port) {
  const client = await WireClient.connect(port)
  client.send('LHLO test.example\r\n')
  await client.until(/^250 [^\r]*\r\n/m)
  return client
}

/**
 * Delivers one message over a connection of its own.
 *
 * @param {number} port
 * @param {{ to: string, message: Buffer | string, from?: string }} delivery
 * @returns {Promise<string>} as `deliverOver`
 */
export async function deliver(port, delivery) {
  const client = await connectLmtp(port)
  try {
    return await deliverOver(client, delivery)
  } finally {
    client.destroy()
  }
}
