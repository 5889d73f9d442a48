/**
 * A browser as far as the page for users needs one: HTTPS requests, its cookie, and the token of its forms.
 */
import { request } from 'node:https'
import { buffer } from 'node:stream/consumers'

/**
 * @typedef {object} PageAnswer
 * @property {number} status
 * @property {import('node:http').IncomingHttpHeaders} headers
 * @property {string} text
 * @property {Buffer} bytes
 */

const COOKIE = '__Host-letterlock'

/** One browser. */
export class PageClient {
  /** @type {string | null} */
  cookie = null
  /** The form token of the page that was seen last. */
  token = ''

  /**
   * @param {number} port - on 127.0.0.1
   * @param {{ localAddress?: string, createConnection?: any, signal?: AbortSignal }} [options] - of the connection
   */
  constructor(port, options = {}) {
    this.port = port
    this.options = options
  }

  /** @returns {string} */
  get origin() {
    return `https://127.0.0.1:${this.port}`
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ body?: string, headers?: Record<string, string> }} [more]
   * @returns {Promise<PageAnswer>}
   */
  async ask(method, path, { body, headers = {} } = {}) {
    const { port, cookie, options } = this
    const all = { ...(cookie !== null && { cookie: `${COOKIE}=${cookie}` }), ...headers }
    /** @type {PageAnswer} */
    const answer = await new Promise((resolve, reject) => {
      const sent = request({
        ...options,
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: all,
        // With an agent, `createConnection` would be the agent's.
        ...(options.createConnection === undefined && { agent: false }),
        rejectUnauthorized: false
      })
      sent.on('error', reject)
      sent.on('response', async (response) => {
        const bytes = await buffer(response)
        const { statusCode = 0, headers: got } = response
        resolve({ status: statusCode, headers: got, text: bytes.toString(), bytes })
      })
      sent.end(body)
    })
    const [set = ''] = answer.headers['set-cookie'] ?? []
    const value = new RegExp(`^${COOKIE}=([^;]*)`).exec(set)?.[1]
    if (value !== undefined) this.cookie = value === '' ? null : value
    this.token = /name="token" value="([^"]+)"/.exec(answer.text)?.[1] ?? this.token
    return answer
  }

  /**
   * @param {string} path
   * @returns {Promise<PageAnswer>}
   */
  get(path) {
    return this.ask('GET', path)
  }

  /**
   * Sends a form as the page's own form would.
   *
   * @param {string} path
   * @param {Record<string, string>} fields
   * @param {Record<string, string>} [headers]
   * @returns {Promise<PageAnswer>}
   */
  post(path, fields, headers = {}) {
    const body = new URLSearchParams({ token: this.token, ...fields }).toString()
    const type = 'application/x-www-form-urlencoded'
    const own = { origin: this.origin, 'content-type': type, ...headers }
    return this.ask('POST', path, { body, headers: own })
  }

  /**
   * @param {string} address
   * @param {string} password
   * @returns {Promise<PageAnswer>} of the form; with a good one the first page has been seen as well
   */
  async logIn(address, password) {
    const answer = await this.post('/login', { address, password })
    if (answer.status === 303) await this.get('/')
    return answer
  }
}
