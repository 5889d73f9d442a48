/**
 * The LMTP listener (RFC 2033): the mail transfer agent's way in. A message is sealed to each recipient's
 * public key as it streams by, and a recipient's `250` goes out only when its spool file and its name are
 * on disk. Nothing here holds a key that opens mail, and nothing is stored in the clear.
 *
 * Protocol and limits are smtp-server's: PIPELINING, SIZE, 8BITMIME, SMTPUTF8, ENHANCEDSTATUSCODES, one
 * reply for each accepted RCPT, the end of data only at CRLF.CRLF. Its socket is paused while a piece is
 * being written. The bytes of a message are kept as they come, bare LF and bare CR too; a dot that
 * begins a line (also after a bare LF) and is followed by another is taken for stuffing (RFC 5321 §4.5.2).
 *
 * Logs have account ids, counts and codes, never an address.
 */

import { hostname } from 'node:os'
import { join } from 'node:path'
import { fanOut } from './fan-out.js'
import { LmtpListener } from './lmtp-listener.js'
import { LmtpRefusal, REFUSALS, refusalOf } from './lmtp-reply.js'
import { Permits } from './permits.js'
import { SpoolMeter } from './spool-meter.js'
import { traceHeaders, wireAddress } from './trace-headers.js'

/** @typedef {import('smtp-server').SMTPServerSession} Session */
/** @typedef {import('smtp-server').SMTPServerAddress} Address */

/**
 * Spool files being written at a time, over all connections: each takes a descriptor and about 128 KiB.
 * Further messages wait unread, and so do their senders.
 */
const MAX_OPEN_FILES = 512

/**
 * What our own header fields may add, in bytes. A message has to leave that much room below
 * `messages.maxBytes`, which is the store's limit for what it is given: else it would be accepted and then
 * not fit. SIZE says so beforehand.
 */
const TRACE_RESERVE_BYTES = 4096

/** Commands that smtp-server knows and a mail store has no use for. */
const DISABLED_COMMANDS = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', 'HELP']

/**
 * What LMTP needs of an account; the directory's `Account` has it.
 *
 * @typedef {object} DeliveryAccount
 * @property {string} id
 * @property {string} folder - absolute
 * @property {Buffer} sealPublicKey
 * @property {boolean} isEnabled
 * @property {number} quotaBytes - 0: no limit
 * @property {number} quotaMessages - 0: no limit
 * @property {number} usedBytes
 * @property {number} usedMessages
 */

/**
 * @typedef {object} LmtpConfig
 * @property {{ maxRecipients: number, maxConnections: number, timeoutMs: number,
 *   overQuota: 'temporary' | 'permanent' }} lmtp
 * @property {{ maxBytes: number }} messages
 * @property {{ graceMs: number }} shutdown
 */

/**
 * @typedef {object} LmtpOptions
 * @property {LmtpConfig} config
 * @property {{ findByAddress: (address: string) => Promise<DeliveryAccount | null> }} directory
 * @property {import('../support/clock.js').Clock} clock
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {{ certificate: Buffer | string, key: Buffer | string } | null} [tls] - PEM; with it STARTTLS is offered
 * @property {(accountId: string) => void} notify - mail lies in the account's spool
 * @property {string} [serverName] - in greeting and Received; the host's name by default
 */

/** @typedef {{ account: DeliveryAccount, address: string }} Recipient */
/** @typedef {import('./fan-out.js').Destination & { account: DeliveryAccount }} AccountDestination */

/**
 * @typedef {object} LmtpServer
 * @property {(where: { host: string, port: number }) => Promise<{ host: string, port: number }>} listen -
 *   port 0 takes a free one
 * @property {() => Promise<void>} close - lets running transfers end, for `shutdown.graceMs` at most
 */

/**
 * @param {LmtpOptions} options
 * @returns {LmtpServer}
 */
export function createLmtpServer(options) {
  const { config, logger, tls } = options
  const service = new LmtpService(options)
  const listener = new LmtpListener({
    lmtp: true,
    name: service.serverName,
    banner: 'Letterlock',
    // Its own log lines have addresses; ours are written here.
    logger: false,
    size: service.maxMessageBytes,
    maxClients: config.lmtp.maxConnections,
    maxRecipients: service.maxRecipients,
    socketTimeout: config.lmtp.timeoutMs,
    closeTimeout: config.shutdown.graceMs,
    disableReverseLookup: true,
    authOptional: true,
    hideENHANCEDSTATUSCODES: false,
    disabledCommands: tls ? DISABLED_COMMANDS : [...DISABLED_COMMANDS, 'STARTTLS'],
    ...(tls && { key: tls.key, cert: tls.certificate }),
    onMailFrom: (_address, session, done) => {
      service.begin(session)
      done()
    },
    onRcptTo: (address, session, done) => {
      service.addRecipient(address, session).then(() => done(), done)
    },
    onData: (message, session, done) => {
      service
        .deliver(message, session)
        // The library's types know one text alone; it sends one reply for each element.
        .then((replies) => done(null, /** @type {any} */ (replies)), done)
        .finally(() => {
          service.end(session)
          if (service.isClosing) listener.closeIdle(service.isBusy)
        })
    },
    onClose: (session) => service.forget(session)
  })
  listener.on('error', (error) => logger.warn({ err: error }, 'a delivery connection failed'))
  return {
    listen: ({ host, port }) => listen(listener, host, port),
    close: () =>
      new Promise((resolve) => {
        service.isClosing = true
        listener.close(() => resolve())
        listener.closeIdle(service.isBusy)
      })
  }
}

/**
 * @param {LmtpListener} listener
 * @param {string} host
 * @param {number} port
 * @returns {Promise<{ host: string, port: number }>}
 */
function listen(listener, host, port) {
  return new Promise((resolve, reject) => {
    const { server } = listener
    server.once('error', reject)
    listener.listen(port, host, () => {
      server.off('error', reject)
      const bound = server.address()
      if (bound === null || typeof bound === 'string') reject(new Error('not bound to a port'))
      else resolve({ host: bound.address, port: bound.port })
    })
  })
}

/** The transactions of one listener. */
class LmtpService {
  #options
  #meter
  #permits = new Permits(MAX_OPEN_FILES)
  /**
   * Accepted recipients of the running transactions. smtp-server's own list keeps a repeated address once,
   * but RFC 2033 §4.2 wants a reply for every accepted RCPT, even of the same address.
   *
   * @type {WeakMap<Session, Recipient[]>}
   */
  #recipients = new WeakMap()
  /** @type {Set<string>} ids of the sessions that are transferring a message */
  #busy = new Set()
  isClosing = false

  /** @param {LmtpOptions} options */
  constructor(options) {
    this.#options = options
    this.#meter = new SpoolMeter(options.clock)
    this.serverName = options.serverName ?? hostname()
    this.maxMessageBytes = options.config.messages.maxBytes - TRACE_RESERVE_BYTES
    this.maxRecipients = Math.min(options.config.lmtp.maxRecipients, MAX_OPEN_FILES)
  }

  /** @type {(sessionId: string) => boolean} */
  isBusy = (sessionId) => this.#busy.has(sessionId)

  /** @param {Session} session */
  begin(session) {
    this.#recipients.set(session, [])
  }

  /** @param {Session} session */
  forget(session) {
    this.#recipients.delete(session)
  }

  /**
   * @param {Address} address
   * @param {Session} session
   * @throws {LmtpRefusal}
   */
  async addRecipient(address, session) {
    const { directory, logger } = this.#options
    try {
      const recipients = this.#recipientsOf(session)
      if (recipients.length >= this.maxRecipients) throw new LmtpRefusal(REFUSALS.tooManyRecipients)
      const account = await directory.findByAddress(address.address)
      if (account === null) throw new LmtpRefusal(REFUSALS.unknownRecipient)
      if (!account.isEnabled) throw new LmtpRefusal(REFUSALS.disabledAccount)
      await this.#requireRoom(account, declaredSize(session))
      recipients.push({
        account,
        address: wireAddress(address.address, session.envelope.smtpUtf8 === true)
      })
    } catch (error) {
      if (!(error instanceof LmtpRefusal)) {
        logger.error({ err: error }, 'a recipient could not be looked up')
      }
      throw refusalOf(error)
    }
  }

  /**
   * @param {AsyncIterable<Buffer>} message
   * @param {Session} session
   * @returns {Promise<(string | LmtpRefusal)[]>} one for each accepted RCPT, in order
   * @throws {LmtpRefusal} where the message did not come to its end
   */
  async deliver(message, session) {
    const { logger } = this.#options
    const recipients = this.#recipientsOf(session)
    this.#recipients.delete(session)
    const transactionId = `${session.id}.${session.transaction}`
    const destinations = this.#destinations(recipients, session, transactionId)
    this.#busy.add(session.id)
    const release = await this.#permits.take(destinations.size)
    try {
      const outcomes = await fanOut({
        destinations: [...destinations.values()],
        message,
        maxBytes: this.maxMessageBytes,
        beforeFinish: ({ account }, bytes) => this.#requireRoom(account, bytes),
        onAbortFailed: (error) => logger.warn({ err: error }, 'a refused message stays in tmp/')
      })
      const replies = new Map()
      for (const { destination, error, bytes } of outcomes) {
        replies.set(destination.envelope.recipient, await this.#conclude(destination, error, bytes))
      }
      return recipients.map(({ address }) => replies.get(address))
    } catch (error) {
      logger.warn({ err: error }, 'a message did not come to its end')
      throw refusalOf(error)
    } finally {
      release()
    }
  }

  /**
   * The replies to a message have been written.
   *
   * @param {Session} session
   */
  end(session) {
    this.#busy.delete(session.id)
  }

  /**
   * @param {Session} session
   * @returns {Recipient[]}
   */
  #recipientsOf(session) {
    return this.#recipients.get(session) ?? []
  }

  /**
   * One destination for each address; an address that was given twice gets the message once.
   *
   * @param {Recipient[]} recipients
   * @param {Session} session
   * @param {string} transactionId
   */
  #destinations(recipients, session, transactionId) {
    const receivedAtMs = this.#options.clock.nowMs()
    const { mailFrom, smtpUtf8 } = session.envelope
    const sender = mailFrom ? mailFrom.address : ''
    /** @type {Map<string, AccountDestination>} */
    const destinations = new Map()
    for (const { account, address } of recipients) {
      const headers = traceHeaders({
        sender,
        recipient: address,
        clientName: session.hostNameAppearsAs,
        clientAddress: session.remoteAddress,
        serverName: this.serverName,
        transactionId,
        receivedAtMs,
        isSecure: session.secure,
        isUtf8: smtpUtf8 === true
      })
      destinations.set(address, {
        account,
        spoolFolder: spoolFolderOf(account),
        publicKey: account.sealPublicKey,
        envelope: { recipient: address, sender, receivedAtMs },
        headers
      })
    }
    return destinations
  }

  /**
   * @param {AccountDestination} destination
   * @param {unknown} error
   * @param {number} bytes
   * @returns {Promise<string | LmtpRefusal>} the reply
   */
  async #conclude({ account, spoolFolder }, error, bytes) {
    const { logger, notify } = this.#options
    if (error !== null) {
      const refusal = refusalOf(error)
      const facts = { accountId: account.id, reply: refusal.responseCode }
      if (error instanceof LmtpRefusal) logger.info(facts, 'mail refused')
      else logger.error({ ...facts, err: error }, 'mail could not be stored')
      return refusal
    }
    logger.info({ accountId: account.id, bytes }, 'mail sealed')
    try {
      await this.#meter.noteArrival(spoolFolder, bytes)
      notify(account.id)
    } catch (err) {
      // The message is safe: nothing that fails from here on may refuse it.
      logger.error({ accountId: account.id, err }, 'sealed mail was not announced')
    }
    return '2.0.0 Sealed and stored'
  }

  /**
   * Usage is the directory's figure (what the mailbox held when it was last open) and what waits in the
   * spool.
   *
   * @param {DeliveryAccount} account
   * @param {number} bytes - of the new message
   * @throws {LmtpRefusal} where the quota would be exceeded
   */
  async #requireRoom(account, bytes) {
    const { quotaBytes, quotaMessages, usedBytes, usedMessages } = account
    if (quotaBytes === 0 && quotaMessages === 0) return
    const spool = await this.#meter.usage(spoolFolderOf(account))
    const isOver =
      (quotaBytes > 0 && usedBytes + spool.bytes + bytes > quotaBytes) ||
      (quotaMessages > 0 && usedMessages + spool.messages + 1 > quotaMessages)
    if (!isOver) return
    const isForGood = this.#options.config.lmtp.overQuota === 'permanent'
    throw new LmtpRefusal(isForGood ? REFUSALS.mailboxFullForGood : REFUSALS.mailboxFull)
  }
}

/** @param {DeliveryAccount} account */
function spoolFolderOf(account) {
  return join(account.folder, 'spool')
}

/**
 * @param {Session} session
 * @returns {number} bytes that the client announced with SIZE= (RFC 1870 §6), 0 where it did not
 */
function declaredSize(session) {
  const { mailFrom } = session.envelope
  const args = mailFrom ? mailFrom.args : null
  return Number(/** @type {{ SIZE?: string } | null} */ (args || null)?.SIZE ?? 0)
}
