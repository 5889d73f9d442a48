/**
 * A real Postfix of the test's own: its configuration, queue and log are in a scratch folder, its ports on loopback.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { freePort } from './free-port.js'
import { missing } from './programs.js'

/** After so many ms without an answer a test fails instead of hanging. */
const PATIENCE_MS = 60_000

/** @returns {false | string} for the `skip` option of a test */
export function postfixIsMissing() {
  const isAbsent = missing('postfix', 'postconf')
  if (isAbsent) return isAbsent
  return process.getuid?.() === 0 ? false : 'Postfix is started by root alone'
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
async function isListening(port) {
  const socket = createConnection({ host: '127.0.0.1', port })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/**
 * @typedef {object} Postfix
 * @property {Record<'smtp' | 'submission' | 'submissions', number>} ports
 * @property {() => string} log
 */

/**
 * The settings of docs/postfix.md, with the test's own paths and ports.
 *
 * @param {import('node:test').TestContext} t - it is stopped after the test
 * @param {object} options
 * @param {string} options.scratch - Postfix's user must be able to reach it
 * @param {number} options.lmtpPort
 * @param {string} options.saslSocket
 * @param {string} options.certificate - file
 * @param {string} options.key - file
 * @param {string} options.domain
 * @returns {Promise<Postfix>}
 */
export async function startPostfix(t, { scratch, lmtpPort, saslSocket, certificate, key, domain }) {
  const [config, queue, data] = ['config', 'queue', 'lib'].map((name) =>
    join(scratch, 'postfix', name)
  )
  for (const folder of [join(scratch, 'postfix'), config, queue, data]) {
    mkdirSync(/** @type {string} */ (folder))
    chmodSync(/** @type {string} */ (folder), 0o755)
  }
  const user = /^postfix:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))
  chownSync(String(data), Number(user?.[1]), Number(user?.[2]))
  const log = join(scratch, 'postfix', 'log')
  const ports = {
    smtp: await freePort(),
    submission: await freePort(),
    submissions: await freePort()
  }
  const main = {
    compatibility_level: '3.6',
    queue_directory: queue,
    data_directory: data,
    maillog_file: log,
    maillog_file_prefixes: scratch,
    inet_interfaces: 'loopback-only',
    inet_protocols: 'ipv4',
    myhostname: `mail.${domain}`,
    mydestination: '',
    mynetworks: '',
    alias_maps: '',
    local_recipient_maps: '',
    virtual_mailbox_domains: domain,
    virtual_transport: `lmtp:inet:127.0.0.1:${lmtpPort}`,
    smtpd_relay_restrictions: 'permit_sasl_authenticated, reject_unauth_destination',
    smtpd_recipient_restrictions: 'reject_unverified_recipient',
    unverified_recipient_reject_code: '550',
    address_verify_poll_delay: '1s',
    // Many polls: on a machine that has much else to do the answer is late, and the recipient exists all the same.
    address_verify_poll_count: '60',
    smtpd_tls_cert_file: certificate,
    smtpd_tls_key_file: key,
    smtpd_tls_security_level: 'may',
    smtpd_tls_auth_only: 'yes',
    smtpd_sasl_type: 'dovecot',
    smtpd_sasl_path: saslSocket,
    smtpd_sasl_security_options: 'noanonymous',
    smtpd_sender_login_maps: `regexp:${join(scratch, 'postfix', 'senders')}`
  }
  writeFileSync(
    join(String(config), 'main.cf'),
    Object.entries(main)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join('')
  )
  writeFileSync(main.smtpd_sender_login_maps.slice('regexp:'.length), '/^(.*)$/ $1\n')
  const submission = [
    '  -o smtpd_sasl_auth_enable=yes',
    '  -o smtpd_relay_restrictions=permit_sasl_authenticated,reject',
    '  -o smtpd_sender_restrictions=reject_sender_login_mismatch'
  ]
  const service = (/** @type {string} */ name, /** @type {string} */ rest) => `${name} ${rest}`
  writeFileSync(
    join(String(config), 'master.cf'),
    [
      service(`127.0.0.1:${ports.smtp}`, 'inet n - n - - smtpd'),
      service(`127.0.0.1:${ports.submission}`, 'inet n - n - - smtpd'),
      '  -o smtpd_tls_security_level=encrypt',
      ...submission,
      service(`127.0.0.1:${ports.submissions}`, 'inet n - n - - smtpd'),
      '  -o smtpd_tls_wrappermode=yes',
      ...submission,
      ...[
        'pickup unix n - n 60 1 pickup',
        'cleanup unix n - n - 0 cleanup',
        'qmgr unix n - n 300 1 qmgr',
        'tlsmgr unix - - n 1000? 1 tlsmgr',
        'rewrite unix - - n - - trivial-rewrite',
        'bounce unix - - n - 0 bounce',
        'defer unix - - n - 0 bounce',
        'trace unix - - n - 0 bounce',
        'verify unix - - n - 1 verify',
        'flush unix n - n 1000? 0 flush',
        'proxymap unix - - n - - proxymap',
        'smtp unix - - n - - smtp',
        'error unix - - n - - error',
        'retry unix - - n - - error',
        'lmtp unix - - n - - lmtp',
        'anvil unix - - n - 1 anvil',
        'scache unix - - n - 1 scache',
        'postlog unix-dgram n - n - 1 postlogd'
      ],
      ''
    ].join('\n')
  )
  const child = spawn('postfix', ['-c', String(config), 'start-fg'], { stdio: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => (output += chunk))
  }
  const exited = once(child, 'exit')
  // Its script waits for its master, which is a session leader: the folder is gone when the test ends, so its id is kept.
  let master = 0
  t.after(async () => {
    if (master > 0) process.kill(master, 'SIGTERM')
    else child.kill()
    await exited
  })
  const text = () => {
    try {
      return readFileSync(log, 'utf8')
    } catch {
      return ''
    }
  }
  for (const deadline = Date.now() + PATIENCE_MS; !(await isListening(ports.submissions));) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`Postfix did not start:\n${output}${text()}`)
    }
    await sleep(50)
  }
  master = Number(readFileSync(join(String(queue), 'pid', 'master.pid'), 'utf8'))
  return { ports, log: text }
}

/** An SMTP client that says one line after the other. */
export class SmtpClient {
  #rest = ''
  /** @type {string[]} */
  #lines = []
  #wake = () => {}
  #isClosed = false

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket
    this.#listen()
  }

  #listen() {
    const { socket } = this
    socket.on('data', (chunk) => {
      const lines = (this.#rest + chunk.toString('utf8')).split('\r\n')
      this.#rest = lines.pop() ?? ''
      this.#lines.push(...lines)
      this.#wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      this.#wake()
    })
  }

  /**
   * @param {number} port
   * @param {{ isTls?: boolean }} [options] - TLS from the first byte
   * @returns {Promise<SmtpClient>} greeted, and after EHLO
   */
  static async connect(port, { isTls = false } = {}) {
    const where = { host: '127.0.0.1', port }
    const socket = isTls
      ? connectTls({ ...where, rejectUnauthorized: false })
      : createConnection(where)
    await once(socket, isTls ? 'secureConnect' : 'connect')
    const client = new SmtpClient(socket)
    await client.reply()
    await client.say('EHLO client.example.net')
    return client
  }

  async startTls() {
    await this.say('STARTTLS')
    const plain = this.socket
    plain.removeAllListeners('data')
    this.socket = connectTls({ socket: plain, rejectUnauthorized: false })
    await once(this.socket, 'secureConnect')
    this.#listen()
    await this.say('EHLO client.example.net')
  }

  /** @returns {Promise<string>} all lines of the next reply */
  async reply() {
    const lines = []
    for (;;) {
      while (this.#lines.length === 0) {
        if (this.#isClosed) throw new Error(`closed after ${lines.join('\n')}`)
        await new Promise((resolve, reject) => {
          const timer = setTimeout(() => reject(new Error('no reply')), PATIENCE_MS)
          this.#wake = () => {
            clearTimeout(timer)
            resolve(undefined)
          }
        })
      }
      const line = this.#lines.shift() ?? ''
      lines.push(line)
      if (!/^\d{3}-/.test(line)) return lines.join('\n')
    }
  }

  /**
   * @param {string} line
   * @returns {Promise<string>} the reply
   */
  async say(line) {
    this.socket.write(`${line}\r\n`)
    return await this.reply()
  }

  close() {
    this.socket.destroy()
  }
}
