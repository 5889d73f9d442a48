/**
 * What is done for LMTP's commands: who may receive, how much, and where the message goes.
 */

import { hostname } from 'node:os'
import { join } from 'node:path'
import { isRecipientOf } from '../crypto/age.js'
import { MailError } from '../errors.js'
import { counters } from '../telemetry/counters.js'
import { fanOut } from './fan-out.js'
import { hasGone } from './gone-client.js'
import { LmtpRefusal, REFUSALS, refusalOf } from './lmtp-reply.js'
import { Permits } from './permits.js'
import { SpoolMeter } from './spool-meter.js'
import { cleanSpoolLeftovers } from './spool.js'
import { traceHeaders, wireAddress } from './trace-headers.js'

/** @typedef {import('smtp-server').SMTPServerSession} Session */
/** @typedef {import('smtp-server').SMTPServerAddress} Address */

/**
 * At most so many spool files are written at a time, over all connections: each takes a descriptor and about 128 KiB.
 * Further messages wait unread, and so do their senders.
 */
const MAX_OPEN_FILES = 512

/**
 * Our own header fields add at most so many bytes. A message has to leave this much room below `messages.maxBytes`, the
 * store's limit, which counts them: else the message would be accepted and then not fit. SIZE says so beforehand.
 */
const TRACE_RESERVE_BYTES = 4096

/** At most so many spools are remembered as those whose tmp/ this process has tidied; beyond that it tidies them again. */
const MAX_TIDY_FOLDERS = 10_000

/**
 * What LMTP needs of an account; the directory's `Account` has it.
 *
 * @typedef {object} DeliveryAccount
 * @property {string} id
 * @property {string} folder - absolute
 * @property {Buffer} sealPublicKey
 * @property {string} sealRecipient - the public key as text, with a checksum
 * @property {boolean} isEnabled
 * @property {number} quotaBytes - 0: no limit
 * @property {number} quotaMessages - 0: no limit
 * @property {number} usedBytes
 * @property {number} usedMessages
 * @property {string} [tenant] - that the account belongs to
 */

/**
 * @typedef {object} LmtpConfig
 * @property {{ maxRecipients: number, maxConnections: number, timeoutMs: number,
 *   overQuota: 'temporary' | 'permanent' }} lmtp
 * @property {{ maxBytes: number }} messages
 * @property {{ graceMs: number }} shutdown
 */

/**
 * @typedef {object} LmtpTls - PEM
 * @property {Buffer | string} certificate
 * @property {Buffer | string} key
 * @property {{ names: string[], cert: Buffer | string, key: Buffer | string }[]} [others] - of other names; a wildcard is
 *   not matched here
 */

/**
 * @typedef {object} LmtpOptions
 * @property {LmtpConfig} config
 * @property {{ findByAddress: (address: string) => Promise<DeliveryAccount | null>,
 *   findAccount: (accountId: string) => Promise<Pick<DeliveryAccount, 'folder'> | null>,
 *   pageFolders: (page: { afterId: string, limit: number }) => Promise<unknown[]>,
 *   tenantRoom?: (tenant: string) => Promise<number | null>,
 *   audit: import('../accounts/directory-port.js').DirectoryPort['audit'] }} directory - `tenantRoom`: bytes that all accounts of a
 *   tenant may still grow by; null: no limit
 * @property {import('../support/clock.js').Clock} clock
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {LmtpTls | null} [tls] - with it STARTTLS is offered
 * @property {(accountId: string) => void} notify - called when mail lies in the account's spool
 * @property {() => boolean} [admits] - whether the process can bear one more connection; asked once for each
 * @property {string} [serverName] - in greeting and Received; the host's name by default
 */

/** @typedef {{ account: DeliveryAccount, address: string }} Recipient */
/** @typedef {import('./fan-out.js').Destination & { account: DeliveryAccount }} AccountDestination */

/** The transactions of one listener. */
export class LmtpService {
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
  /** @type {Set<string>} ids of the accounts whose damaged key is in the audit log */
  #alarmed = new Set()
  /** @type {Set<string>} spool folders whose leftovers of earlier processes are gone */
  #tidy = new Set()

  /** @param {LmtpOptions} options */
  constructor(options) {
    this.#options = options
    this.#meter = new SpoolMeter(options.clock)
    this.serverName = options.serverName ?? hostname()
    this.maxMessageBytes = options.config.messages.maxBytes - TRACE_RESERVE_BYTES
    this.maxRecipients = Math.min(options.config.lmtp.maxRecipients, MAX_OPEN_FILES)
  }

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
      if (account === null) throw await this.#refusalOfUnknown()
      if (!account.isEnabled) throw new LmtpRefusal(REFUSALS.disabledAccount)
      this.#requireWholeKey(account)
      // A mail server that only asks whether there is such a recipient takes even a temporary no for an answer, and would refuse
      // its senders instead of keeping their mail. So a quota that is full for now is told only after a message has come.
      if (this.#isRefusedForGood) await this.#requireRoom(account, declaredSize(session))
      recipients.push({
        account,
        address: wireAddress(address.address, session.envelope.smtpUtf8 === true)
      })
    } catch (error) {
      const isRefused = error instanceof LmtpRefusal
      counters.deliveries[isRefused ? 'refused' : 'failed']++
      if (!isRefused) logger.error({ err: error }, 'a recipient could not be looked up')
      throw refusalOf(error)
    }
  }

  /**
   * Refuses mail for an account whose public key the disk has given back wrongly: sealed to that key, it could never be opened.
   *
   * @param {DeliveryAccount} account
   * @throws {LmtpRefusal}
   */
  #requireWholeKey({ id, sealRecipient, sealPublicKey }) {
    const { directory, logger } = this.#options
    if (isRecipientOf(sealRecipient, sealPublicKey)) {
      this.#alarmed.delete(id)
      return
    }
    const { code, message: reason } = new MailError('KEYS_CONTRADICT')
    logger.error({ accountId: id, code }, 'mail refused: keys alarm')
    // Audited only once: the sender tries again every few minutes, for days.
    if (!this.#alarmed.has(id))
      directory.audit({ action: 'key-alarm', accountId: id, detail: { code, reason } })
    this.#alarmed.add(id)
    throw new LmtpRefusal(REFUSALS.notSealed)
  }

  /**
   * A server without any account may have started before the disk with the mail was mounted: until there is one, senders are
   * not told for good that a recipient does not exist.
   *
   * @returns {Promise<LmtpRefusal>}
   */
  async #refusalOfUnknown() {
    const [folder] = await this.#options.directory.pageFolders({ afterId: '', limit: 1 })
    return new LmtpRefusal(folder === undefined ? REFUSALS.noAccounts : REFUSALS.unknownRecipient)
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
    const release = await this.#permits.take(destinations.size)
    try {
      for (const { spoolFolder } of destinations.values()) await this.#cleanOnce(spoolFolder)
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
      logger[hasGone(error) ? 'info' : 'warn']({ err: error }, 'a message did not come to its end')
      throw refusalOf(error)
    } finally {
      release()
    }
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
    const failure = (await this.#refusalIfReplaced(account)) ?? error
    if (failure !== null) {
      const refusal = refusalOf(failure)
      const facts = { accountId: account.id, reply: refusal.responseCode }
      const isRefused = failure instanceof LmtpRefusal
      counters.deliveries[isRefused ? 'refused' : 'failed']++
      if (isRefused) logger.info(facts, 'mail refused')
      else logger.error({ ...facts, err: failure }, 'mail could not be stored')
      return refusal
    }
    counters.deliveries.stored++
    counters.deliveries.bytes += bytes
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
   * Since the recipient was accepted, the account may have been deleted, or its mailbox made anew: then nobody has the key any
   * more that the message is sealed to, and its file goes with the old folder. To be called once the spool file is durable:
   * whoever deletes the account later deletes a message that has arrived.
   *
   * @param {DeliveryAccount} account - as it was when the recipient was accepted
   * @returns {Promise<LmtpRefusal | null>}
   */
  async #refusalIfReplaced({ id, folder }) {
    const { directory, logger } = this.#options
    try {
      const now = await directory.findAccount(id)
      return now?.folder === folder ? null : new LmtpRefusal(REFUSALS.localTrouble)
    } catch (err) {
      // The message is safe, as far as anybody knows.
      logger.error({ accountId: id, err }, 'an account could not be looked up again')
      return null
    }
  }

  /**
   * Removes what a killed process left in tmp/, with the first mail that this process takes for the account.
   *
   * @param {string} spoolFolder
   */
  async #cleanOnce(spoolFolder) {
    const { clock, logger } = this.#options
    if (this.#tidy.has(spoolFolder)) return
    if (this.#tidy.size >= MAX_TIDY_FOLDERS) this.#tidy.clear()
    this.#tidy.add(spoolFolder)
    try {
      await cleanSpoolLeftovers({ spoolFolder, clock })
    } catch (err) {
      // Sealed bytes that lie about longer are no reason to refuse mail.
      logger.warn({ err }, 'leftovers of a spool could not be removed')
    }
  }

  /**
   * Usage is the directory's figure (what the mailbox held when it was last open) and what waits in the
   * spool. Mail in the spools of the tenant's other accounts is not counted.
   *
   * @param {DeliveryAccount} account
   * @param {number} bytes - of the new message
   * @throws {LmtpRefusal} where the quota would be exceeded
   */
  async #requireRoom(account, bytes) {
    const { quotaBytes, quotaMessages, usedBytes, usedMessages, tenant } = account
    const { directory } = this.#options
    const room = tenant === undefined ? null : ((await directory.tenantRoom?.(tenant)) ?? null)
    if (quotaBytes === 0 && quotaMessages === 0 && room === null) return
    const spoolFolder = spoolFolderOf(account)
    const isOver = (/** @type {import('./spool-meter.js').SpoolUsage} */ spool) =>
      (room !== null && spool.bytes + bytes > room) ||
      (quotaBytes > 0 && usedBytes + spool.bytes + bytes > quotaBytes) ||
      (quotaMessages > 0 && usedMessages + spool.messages + 1 > quotaMessages)
    if (!isOver(await this.#meter.usage(spoolFolder))) return
    // Nothing is refused for what is only believed: the mail may go back to its sender.
    if (!isOver(await this.#meter.usage(spoolFolder, { isMeasured: true }))) return
    throw new LmtpRefusal(
      this.#isRefusedForGood ? REFUSALS.mailboxFullForGood : REFUSALS.mailboxFull
    )
  }

  /** @returns {boolean} whether mail for a full mailbox goes back to its sender at once */
  get #isRefusedForGood() {
    return this.#options.config.lmtp.overQuota === 'permanent'
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
