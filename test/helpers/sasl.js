/**
 * A client of the authentication socket, line by line, and the socket itself over real accounts.
 */
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { createAuthServer } from '../../src/sasl/auth-server.js'
import { openTestAccounts } from './accounts.js'

/** After so many ms without an answer a test fails instead of hanging. */
const PATIENCE_MS = 60_000

/** @param {string} text */
export const base64 = (text) => Buffer.from(text).toString('base64')

/**
 * @param {string} username
 * @param {string} password
 * @returns {string} SASL PLAIN's message, in base64
 */
export const plain = (username, password) => base64(`\0${username}\0${password}`)

/** One connection. */
export class SaslClient {
  /** @type {string[]} */
  #lines = []
  #rest = ''
  #wake = () => {}
  isClosed = false

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      const lines = (this.#rest + chunk.toString('utf8')).split('\n')
      this.#rest = lines.pop() ?? ''
      this.#lines.push(...lines)
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
      this.#wake()
    })
  }

  /**
   * @param {string} path
   * @returns {Promise<SaslClient>}
   */
  static async connect(path) {
    const socket = createConnection(path)
    await once(socket, 'connect')
    return new SaslClient(socket)
  }

  /** @param {...string} lines - without their ends */
  send(...lines) {
    this.socket.write(lines.map((line) => `${line}\n`).join(''))
  }

  /** @returns {Promise<string | null>} the next line; null when the connection has ended */
  async line() {
    while (this.#lines.length === 0 && !this.isClosed) {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('no answer')), PATIENCE_MS)
        this.#wake = () => {
          clearTimeout(timer)
          resolve(undefined)
        }
      })
    }
    return this.#lines.shift() ?? null
  }

  /** @returns {Promise<string[]>} the server's handshake, after which requests may be sent */
  async greet() {
    const lines = []
    for (let line = await this.line(); line !== null; line = await this.line()) {
      lines.push(line)
      if (line === 'DONE') break
    }
    this.send('VERSION\t1\t1', `CPID\t${process.pid}`)
    return lines
  }

  close() {
    this.socket.destroy()
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, unknown>} [settings]
 */
export async function startSasl(t, settings = {}) {
  const accounts = await openTestAccounts(t, settings)
  const path = join(accounts.data, 'auth.sock')
  const { services, open, data } = accounts
  const config = { ...services.config, sasl: { ...services.config.sasl, socket: path } }
  const server = createAuthServer({ config, unlocker: services.unlocker, logger: services.logger })
  await server.listen()
  /** @type {SaslClient[]} */
  const clients = []
  t.after(async () => {
    for (const client of clients) client.close()
    await server.close()
  })
  const connect = async () => {
    const client = await SaslClient.connect(path)
    clients.push(client)
    return client
  }
  return { ...accounts, path, server, services, open, data, connect }
}
