/**
 * How fast is mail taken in by LMTP, durable before the 250?
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { literalsOf } from '../lib/imap-client.js'
import { MailGenerator } from '../lib/mail.js'
import { now, require, requireEqual } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { fieldOf, foundIn } from './checks.js'
import { imapContenders, messageCount, openSession, serverOf } from './session.js'
import { untilRested } from './set-up.js'

/** The generator's messages from this one on are delivered. */
const FIRST_MAIL = 3_000_000
const CONNECTIONS = 8

/** Delivered mail must be in the mailbox after at most so many ms. */
const ARRIVAL_MS = 60_000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'lmtp',
  title: 'Delivery by LMTP',
  notes: `One message a transaction, one recipient; Letterlock seals it to the recipient’s key for a mailbox that may be locked, Dovecot writes it into the mailbox. Checked: the recipient finds all messages afterwards, and ten at random end in the bytes that were sent.`,
  warmUp:
    'half as many messages as are timed, before the clock starts; the next server begins when this one rests',
  lines: [
    { id: 'one', label: 'one connection', unit: 'ms', better: 'lower' },
    { id: 'eight', label: `${CONNECTIONS} connections`, unit: 'ms', better: 'lower' }
  ],
  contenders: imapContenders,
  async measure(run) {
    const count = run.options.isQuick ? 8 : 400
    const user = 'u2'
    const before = await inboxCount(run, user)
    const generator = new MailGenerator(run.options.seed)
    let used = 0
    const nextMail = () => generator.mailOf(FIRST_MAIL + used++).bytes

    const { port } = { port: serverOf(run).ports.lmtp }
    const first = await LmtpClient.connect(port)
    for (let index = 0; index < count / 2; index++) await first.deliver(user, nextMail())
    const one = []
    let start = now()
    for (let index = 0; index < count; index++) one.push(await first.deliver(user, nextMail()))
    const oneMs = now() - start
    first.close()

    const clients = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => LmtpClient.connect(port))
    )
    /** @type {number[]} */
    const eight = []
    start = now()
    await Promise.all(
      clients.map(async (client) => {
        for (let index = 0; index < count / CONNECTIONS; index++) {
          eight.push(await client.deliver(user, nextMail()))
        }
      })
    )
    const eightMs = now() - start
    for (const client of clients) client.close()

    const deadline = now() + ARRIVAL_MS
    let arrived = await inboxCount(run, user)
    while (arrived < before + used && now() < deadline) arrived = await inboxCount(run, user)
    requireEqual(arrived, before + used, 'messages in the recipient’s INBOX')
    const random = new Random(run.options.seed + run.round)
    const some = Array.from({ length: 10 }, () => generator.mailOf(FIRST_MAIL + random.below(used)))
    await requireDelivered(run, user, some)
    await untilRested(serverOf(run).pid, run.options)
    return {
      samples: { one, eight },
      rates: { one: (1000 * one.length) / oneMs, eight: (1000 * eight.length) / eightMs }
    }
  }
}

/**
 * @param {import('../lib/question.js').Run} run
 * @param {string} user
 */
async function inboxCount(run, user) {
  const client = await openSession(run, { user, mailbox: null })
  const count = await messageCount(client, 'INBOX')
  client.close()
  return count
}

/**
 * @param {import('../lib/question.js').Run} run
 * @param {string} user
 * @param {readonly import('../lib/mail.js').Mail[]} mails - that the user must have
 */
async function requireDelivered(run, user, mails) {
  const client = await openSession(run, { user, mailbox: 'INBOX' })
  for (const mail of mails) {
    const id = fieldOf(mail, 'Message-ID')
    const found = foundIn((await client.run(`UID SEARCH HEADER Message-ID "${id}"`)).bytes)
    // Each round delivers the same messages.
    const { bytes } = await client.run(`UID FETCH ${found.at(-1)} BODY.PEEK[]`)
    const [body] = literalsOf(bytes)
    require(body?.subarray(-mail.bytes.length).equals(mail.bytes), `${id} as it was sent`)
  }
  client.close()
}

/** One LMTP connection (RFC 2033). */
class LmtpClient {
  #socket
  #text = ''
  #wake = () => {}
  /** @type {Error | null} */
  #failure = null

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      this.#text += chunk.toString('latin1')
      this.#wake()
    })
    socket.on('error', (error) => {
      this.#failure = error
      this.#wake()
    })
    socket.on('close', () => {
      this.#failure ??= new Error('LMTP connection closed')
      this.#wake()
    })
  }

  /** @param {number} port */
  static async connect(port) {
    const socket = connect({ host: '127.0.0.1', port })
    await once(socket, 'connect')
    const client = new LmtpClient(socket)
    await client.#reply('220')
    await client.#say('LHLO benchmark.example', '250')
    return client
  }

  /** @param {string} code */
  async #reply(code) {
    const pattern = /^(?:\d{3}-.*\r\n)*(\d{3}) .*\r\n/
    for (;;) {
      const found = pattern.exec(this.#text)
      if (found) {
        this.#text = this.#text.slice(found[0].length)
        if (found[1] !== code) throw new Error(`LMTP: ${found[0].trim()}`)
        return
      }
      if (this.#failure) throw this.#failure
      await new Promise((resolve) => (this.#wake = () => resolve(undefined)))
    }
  }

  /**
   * @param {string} line
   * @param {string} code
   */
  async #say(line, code) {
    this.#socket.write(`${line}\r\n`)
    await this.#reply(code)
  }

  /**
   * @param {string} user
   * @param {Buffer} bytes
   * @returns {Promise<number>} milliseconds from MAIL to the 250 after the message
   */
  async deliver(user, bytes) {
    const stuffed = bytes.toString('latin1').replace(/^\./gm, '..')
    const message = Buffer.from(
      `${stuffed}${stuffed.endsWith('\r\n') ? '' : '\r\n'}.\r\n`,
      'latin1'
    )
    const start = now()
    await this.#say('MAIL FROM:<sender@example.org>', '250')
    await this.#say(`RCPT TO:<${user}@localhost>`, '250')
    await this.#say('DATA', '354')
    this.#socket.write(message)
    await this.#reply('250')
    return now() - start
  }

  close() {
    this.#failure = new Error('closed')
    this.#socket.destroy()
  }
}
