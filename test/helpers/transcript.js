/**
 * Dialogues as text, run against a server through real sockets.
 *
 *     C: a1 SELECT INBOX            the client sends a line
 *     S: a1 OK [READ-WRITE] ...     the server answers exactly this; `...` stands for anything
 *     S~: * 1 EXISTS                lines in any order, as long as they follow each other
 *     S: * 1 FETCH (UID {{uid}})    remembers what stands there; later lines must have the same
 *     C-: a2 APP                    sends without a line end
 *     C+: a2 NOOP                   a line that goes out in one packet with the next
 *     2C: / 2S: / 3C: / 3S:         the second and third connection
 *     S! closed                     the server has closed the connection
 *     TLS                           the client starts TLS
 *     # comment
 *
 * Literals are just lines. A line of the server that the text does not expect fails the test, at the end too:
 * every connection that is still open logs out, and must get BYE and OK and nothing else.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { PASSWORD } from './server.js'

/** After so many ms without an answer a test fails instead of hanging. */
const PATIENCE_MS = 60_000

/** One connection, line by line. */
export class LineClient {
  /** @type {string[]} */
  #lines = []
  #rest = ''
  /** @type {(() => void) | null} */
  #wake = null
  isClosed = false
  /** Whether every byte goes out by itself, as far as the kernel lets it. */
  isSplit = false
  /** @type {Promise<void>} */
  #sending = Promise.resolve()
  /** @type {Buffer[]} */
  #held = []

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket
    this.#listen()
  }

  #listen() {
    const { socket } = this
    socket.on('data', (chunk) => {
      const text = this.#rest + chunk.toString('latin1')
      const lines = text.split('\r\n')
      this.#rest = lines.pop() ?? ''
      this.#lines.push(...lines)
      this.#wake?.()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket !== this.socket) return
      this.isClosed = true
      this.#wake?.()
    })
  }

  /**
   * @param {{ port: number, tlsPort: number }} server
   * @param {{ isTls?: boolean }} [options]
   * @returns {Promise<LineClient>}
   */
  static async connect(server, { isTls = false } = {}) {
    const options = { host: '127.0.0.1', rejectUnauthorized: false }
    const socket = isTls
      ? connectTls({ ...options, port: server.tlsPort })
      : connect({ ...options, port: server.port })
    await once(socket, isTls ? 'secureConnect' : 'connect')
    return new LineClient(socket)
  }

  async startTls() {
    const plain = this.socket
    plain.removeAllListeners('data')
    const socket = connectTls({ socket: plain, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    this.socket = socket
    this.#listen()
  }

  /** @param {string | Buffer} bytes */
  send(bytes) {
    if (!this.isSplit) {
      this.socket.write(bytes)
      return
    }
    this.#sending = this.#sending.then(async () => {
      for (const byte of Buffer.from(bytes)) {
        this.socket.write(Buffer.of(byte))
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
  }

  /**
   * Keeps bytes until the next `release`, so that they go out in one write.
   *
   * @param {Buffer} bytes
   */
  hold(bytes) {
    this.#held.push(bytes)
  }

  /** Sends the bytes that are held. */
  release() {
    this.send(Buffer.concat(this.#held))
    this.#held = []
  }

  /** @returns {Promise<string | null>} the next line; null when the connection has ended */
  async line() {
    const deadline = Date.now() + PATIENCE_MS
    while (this.#lines.length === 0) {
      if (this.isClosed) return null
      if (Date.now() > deadline) throw new Error(`no answer; unfinished line: ${this.#rest}`)
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, PATIENCE_MS)
        this.#wake = () => {
          clearTimeout(timer)
          resolve(undefined)
        }
      })
    }
    return this.#lines.shift() ?? null
  }

  /**
   * Sends one command and takes everything up to its tagged reply.
   *
   * @param {string} command - without a tag
   * @returns {Promise<string[]>} the lines, the tagged one last
   */
  async command(command) {
    this.send(`t ${command}\r\n`)
    const lines = []
    for (;;) {
      const line = await this.line()
      if (line === null) throw new Error(`closed in the middle of ${command}: ${lines.join('\n')}`)
      lines.push(line)
      if (line.startsWith('t ')) return lines
    }
  }

  /**
   * @param {string} [username]
   * @param {string} [password]
   */
  async login(username = 'alice', password = PASSWORD) {
    const greeting = await this.line()
    assert.match(greeting ?? 'closed', /^\* OK /)
    const lines = await this.command(`LOGIN "${username}" "${password}"`)
    assert.match(lines.at(-1) ?? '', /^t OK /)
  }

  close() {
    this.socket.destroy()
  }
}

/**
 * @param {string} expected
 * @param {Map<string, string>} variables - filled
 * @returns {(line: string) => boolean}
 */
function matcher(expected, variables) {
  /** @type {string[]} */
  const names = []
  const source = expected
    .split(/(\.\.\.|\{\{\w+\}\})/)
    .map((piece) => {
      if (piece === '...') return '.*'
      const name = /^\{\{(\w+)\}\}$/.exec(piece)?.[1]
      if (name === undefined) return escape(piece)
      const known = variables.get(name)
      if (known !== undefined) return escape(known)
      if (names.includes(name)) return `\\${names.indexOf(name) + 1}`
      names.push(name)
      return '([^ ()\\[\\]]+)'
    })
    .join('')
  const pattern = new RegExp(`^${source}$`)
  return (line) => {
    const match = pattern.exec(line)
    if (match === null) return false
    for (const [index, name] of names.entries()) variables.set(name, match[index + 1] ?? '')
    return true
  }
}

/** @param {string} text */
const escape = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/**
 * Runs a dialogue.
 *
 * @param {import('./server.js').TestServer} server
 * @param {string} text
 * @param {object} [options]
 * @param {string | null} [options.login] - who logs in first on each connection; null: the dialogue begins at the greeting
 * @param {boolean} [options.isTls]
 * @param {boolean} [options.isSplit] - the clients send every byte by itself
 * @param {boolean} [options.isPipelined] - the clients wait for no answer that they need not wait for
 * @returns {Promise<Map<string, string>>} what the dialogue has remembered
 */
export async function transcript(
  server,
  text,
  { login = 'alice', isTls = false, isSplit = false, isPipelined = false } = {}
) {
  /** @type {Map<number, LineClient>} */
  const clients = new Map()
  /** @type {Map<string, string>} */
  const variables = new Map()
  const clientOf = async (/** @type {number} */ number) => {
    const known = clients.get(number)
    if (known !== undefined) return known
    const client = await LineClient.connect(server, { isTls })
    client.isSplit = isSplit
    client.socket.setNoDelay(true)
    clients.set(number, client)
    if (login !== null) await client.login(login)
    return client
  }
  try {
    const steps = isPipelined ? pipeline(parse(text)) : parse(text)
    for (const step of steps) await runStep(step, await clientOf(step.connection), variables)
    for (const [number, client] of clients) await expectNoMore(number, client)
  } finally {
    for (const client of clients.values()) client.close()
  }
  return variables
}

/**
 * @typedef {object} Step
 * @property {number} line - in the text
 * @property {number} connection
 * @property {'send' | 'sendPart' | 'expect' | 'closed' | 'tls'} kind
 * @property {string[]} texts
 * @property {boolean} isHeld - what is sent goes out with the next
 */

/**
 * @param {string} text
 * @returns {Step[]}
 */
function parse(text) {
  /** @type {Step[]} */
  const steps = []
  let isInSet = false
  for (const [index, raw] of text.split('\n').entries()) {
    const source = raw.trimStart()
    if (source === '' || source.startsWith('#')) continue
    const match = /^([123])?(C:|C-:|C\+:|S:|S~:|S! closed|TLS)(?: (.*)|)$/.exec(source)
    if (match === null) throw new Error(`transcript line ${index + 1}: ${source}`)
    const [, digit = '1', mark = '', content = ''] = match
    const connection = Number(digit)
    const last = steps.at(-1)
    if (mark === 'S~:' && isInSet && last?.connection === connection) last.texts.push(content)
    else {
      const isHeld = mark === 'C+:'
      steps.push({ line: index + 1, connection, kind: kindOf(mark), texts: [content], isHeld })
    }
    isInSet = mark === 'S~:'
  }
  return steps
}

/**
 * @param {string} mark
 * @returns {Step['kind']}
 */
function kindOf(mark) {
  if (mark === 'C:' || mark === 'C+:') return 'send'
  if (mark === 'C-:') return 'sendPart'
  if (mark === 'TLS') return 'tls'
  return mark === 'S! closed' ? 'closed' : 'expect'
}

/**
 * Brings forward what a client may say before it has its answers: everything up to a continuation request, a TLS
 * handshake, another connection's turn, or a value that an answer has yet to tell.
 *
 * @param {readonly Step[]} steps
 * @returns {Step[]}
 */
function pipeline(steps) {
  /** @type {Step[]} */
  const ordered = []
  /** @type {Step[]} */
  let run = []
  const flush = () => {
    const sent = run.filter(isSending)
    ordered.push(...sent.map((step) => ({ ...step, isHeld: step !== sent.at(-1) })))
    ordered.push(...run.filter((step) => !isSending(step)))
    run = []
  }
  for (const step of steps) {
    const mustWait =
      step.connection !== run.at(-1)?.connection ||
      step.kind === 'tls' ||
      run.at(-1)?.kind === 'tls' ||
      (isSending(step) &&
        run.some(({ kind, texts }) => kind === 'expect' && texts[0]?.[0] === '+')) ||
      (isSending(step) && step.texts.some((text) => text.includes('{{')))
    if (mustWait) flush()
    run.push(step)
  }
  flush()
  return ordered
}

/** @param {Step} step */
const isSending = ({ kind }) => kind === 'send' || kind === 'sendPart'

/**
 * @param {Step} step
 * @param {LineClient} client
 * @param {Map<string, string>} variables
 */
async function runStep({ kind, texts, line: at, connection, isHeld }, client, variables) {
  const [text = ''] = texts
  const filled = () =>
    text.replace(/\{\{(\w+)\}\}/g, (_, name) => variables.get(name) ?? `{{${name}}}`)
  if (kind === 'send' || kind === 'sendPart') {
    client.hold(Buffer.from(kind === 'send' ? `${filled()}\r\n` : filled()))
    if (!isHeld) client.release()
  } else if (kind === 'tls') await client.startTls()
  else if (kind === 'closed') {
    const line = await client.line()
    assert.equal(line, null, `line ${at}: connection ${connection} should be closed`)
  } else {
    const left = [...texts]
    while (left.length > 0) {
      const line = await client.line()
      const index = left.findIndex((wanted) => line !== null && matcher(wanted, variables)(line))
      if (index < 0)
        assert.fail(
          `line ${at}, connection ${connection}:\n  got      ${line}\n  expected ${left.join('\n           ')}`
        )
      left.splice(index, 1)
    }
  }
}

/**
 * @param {number} number
 * @param {LineClient} client
 */
async function expectNoMore(number, client) {
  const left = []
  if (!client.isClosed) {
    client.send('zz LOGOUT\r\n')
    for (;;) {
      const line = await client.line()
      if (line === null || line.startsWith('zz ')) break
      if (!line.startsWith('* BYE Logging out')) left.push(line)
    }
  }
  assert.deepEqual(left, [], `connection ${number} said more than was expected`)
}
