/**
 * One connection to the server that an account is copied from, through imapflow. It only reads: folders are opened with
 * EXAMINE, and nothing sets \Seen.
 */
import { getCACertificates } from 'node:tls'
import { ImapFlow } from 'imapflow'
import { parseInternalDate } from '../../imap/protocol/values/internal-date.js'
import { SyntaxFailure } from '../../imap/protocol/syntax-failure.js'
import { withGuessedUses } from './guess-uses.js'
import { isLocal } from './source-server.js'

/**
 * @typedef {import('./source-server.js').SourceServer} SourceServer
 * @typedef {import('../import-item.js').ZonedDate} ZonedDate
 *
 * @typedef {object} SourceLogin
 * @property {SourceServer} server
 * @property {Buffer} password - the caller zeroes it
 * @property {string | null} certificateAuthority - PEM, beside those that Node trusts
 * @property {boolean} mayBePlaintext - whether the connection may be without TLS, whatever the host
 *
 * @typedef {object} ListedFolder
 * @property {string} path
 * @property {string[]} levels - of the path
 * @property {string | null} use - such as `\Sent`
 * @property {boolean} isSubscribed
 * @property {boolean} isSelectable
 * @property {number} messages
 *
 * @typedef {object} OpenedSource
 * @property {number} uidValidity
 * @property {number} uidNext
 * @property {bigint | null} modSeq - HIGHESTMODSEQ; null: the server has none
 * @property {number} messages
 *
 * @typedef {object} SourceMessage
 * @property {number} uid
 * @property {string[]} flags
 * @property {ZonedDate | null} internalDate
 * @property {number} sizeBytes - as the server says; some estimate
 *
 * @typedef {{ attributes?: unknown }} Untagged
 * @typedef {{ exec: (command: string, attributes: unknown[], options: { untagged: Record<string, (untagged: Untagged) => Promise<void>> }) => Promise<{ next: () => void }> }} CommandRunner -
 *   imapflow's own way to run a command: its `fetch` loses the zone of INTERNALDATE
 */

/** A server may send at most so many bytes as one literal: a window of a message, or a whole one where it ignores windows. */
const MAX_LITERAL_BYTES = 256 * 1024 * 1024

/** A folder may have at most so many messages: a server that tells more is after our memory. */
const MAX_MESSAGES = 2 ** 24

/** A connection counts as dead after so many ms of silence. */
const SILENCE_MS = 120_000

/** So many bytes of a large message are asked for at a time. */
const WINDOW_BYTES = 1024 * 1024

/** The error of a message that the server's lists have, but that it does not send. */
export const NOT_GIVEN = 'the server lists this message and does not give it'

/** A connection that is logged in. */
export class SourceConnection {
  #flow
  /** @type {string | null} */
  #path = null
  /** @type {OpenedSource | null} */
  #opened = null

  /** @param {ImapFlow} flow - connected */
  constructor(flow) {
    this.#flow = flow
  }

  /**
   * @param {SourceLogin} login
   * @returns {Promise<SourceConnection>}
   * @throws what imapflow throws
   */
  static async connect({ server, password, certificateAuthority, mayBePlaintext }) {
    const flow = new ImapFlow({
      host: server.host,
      port: server.port,
      secure: server.isTls,
      // Without `doSTARTTLS`, STARTTLS is used where the server has it. Across a network, the server must have it.
      ...(!server.isTls && !mayBePlaintext && !isLocal(server) && { doSTARTTLS: true }),
      ...(!server.isTls && mayBePlaintext && { doSTARTTLS: false }),
      auth: { user: server.user, pass: password.toString('utf8') },
      // `ca` replaces the certificates that Node trusts.
      tls:
        certificateAuthority === null
          ? {}
          : { ca: [...getCACertificates('default'), certificateAuthority] },
      disableAutoIdle: true,
      socketTimeout: SILENCE_MS,
      maxLiteralSize: MAX_LITERAL_BYTES,
      maxResponseSize: 2 * MAX_LITERAL_BYTES,
      logger: false,
      clientInfo: { name: 'Letterlock' }
    })
    // Ignored here: every command under way fails with the same error.
    flow.on('error', () => {})
    try {
      await flow.connect()
    } catch (error) {
      flow.close()
      throw error
    }
    return new SourceConnection(flow)
  }

  /** @returns {boolean} */
  get isUsable() {
    return this.#flow.usable
  }

  /** @returns {string | null} the folder that is open */
  get path() {
    return this.#path
  }

  /** @returns {Promise<ListedFolder[]>} */
  async list() {
    const folders = await this.#flow.list({ statusQuery: { messages: true } })
    // The prefix of each of the user's own folders, such as `INBOX.`.
    const prefix = this.#flow.namespace?.prefix ?? ''
    const listed = folders.map((folder) => {
      const { path, delimiter, specialUse, specialUseSource, subscribed, flags, status } = folder
      const isTold = specialUseSource === 'extension' && specialUse !== '\\Inbox'
      return {
        path,
        levels: levelsOf(path, delimiter, prefix),
        // A use that imapflow guessed by the name does not count: imapflow does not ask where the folder lies.
        use: (isTold && specialUse) || null,
        isSubscribed: subscribed,
        isSelectable: !isOnlyName(flags),
        messages: status?.messages ?? 0
      }
    })
    return withGuessedUses(listed)
  }

  /**
   * Opens a folder read-only, unless it is open already.
   *
   * @param {string} path
   * @param {{ isFresh?: boolean }} [options] - `isFresh`: open it anew all the same
   * @returns {Promise<OpenedSource>}
   */
  async open(path, { isFresh = false } = {}) {
    if (this.#path === path && this.#opened && !isFresh) return this.#opened
    this.#path = null
    const mailbox = await this.#flow.mailboxOpen(path, { readOnly: true })
    const uidValidity = Number(mailbox.uidValidity)
    // Without UIDVALIDITY, the UIDs mean nothing in a later run (RFC 9051 §2.3.1.1).
    if (!isUid(uidValidity)) throw new Error('the server gives this folder no UIDVALIDITY')
    this.#path = path
    this.#opened = {
      uidValidity,
      uidNext: mailbox.uidNext,
      modSeq: mailbox.noModseq ? null : (mailbox.highestModseq ?? null),
      messages: mailbox.exists
    }
    return this.#opened
  }

  /**
   * @returns {Promise<number[]>} UIDs of the open folder, ascending
   * @throws what imapflow throws: its own `search` gives an empty answer for a refusal and for a lost connection alike
   */
  async listUids() {
    /** @type {Set<number>} */
    const uids = new Set()
    const take = async (/** @type {Untagged} */ untagged) => {
      for (const uid of foundUids(untagged)) {
        if (uids.size === MAX_MESSAGES) throw new Error('the server lists too many messages')
        uids.add(uid)
      }
    }
    await this.#run('UID SEARCH', [{ type: 'ATOM', value: 'ALL' }], { SEARCH: take, ESEARCH: take })
    return [...uids].sort((left, right) => left - right)
  }

  /**
   * @param {string} range - of UIDs
   * @param {{ changedSince?: number | null }} [options] - only what has changed above that mod-sequence
   * @returns {Promise<Map<number, string[]>>} flags by UID
   */
  async readFlags(range, { changedSince = null } = {}) {
    const found = new Map()
    const messages = this.#flow.fetch(
      range,
      { uid: true, flags: true },
      { uid: true, ...(changedSince !== null && { changedSince: BigInt(changedSince) }) }
    )
    for await (const { uid, flags } of messages) found.set(uid, [...(flags ?? [])])
    return found
  }

  /**
   * @param {string} range - of UIDs
   * @returns {Promise<SourceMessage[]>} those that are there, by UID
   */
  async describe(range) {
    /** @type {SourceMessage[]} */
    const messages = []
    const items = ['UID', 'FLAGS', 'INTERNALDATE', 'RFC822.SIZE']
    await this.#run(
      'UID FETCH',
      [{ type: 'SEQUENCE', value: range }, items.map((value) => ({ type: 'ATOM', value }))],
      {
        FETCH: async (untagged) => {
          const message = toSourceMessage(untagged)
          if (message) messages.push(message)
        }
      }
    )
    return messages.sort((left, right) => left.uid - right.uid)
  }

  /**
   * @param {string} command
   * @param {unknown[]} attributes
   * @param {Record<string, (untagged: Untagged) => Promise<void>>} untagged - what takes the answers, by their names
   */
  async #run(command, attributes, untagged) {
    const runner = /** @type {CommandRunner} */ (/** @type {unknown} */ (this.#flow))
    const response = await runner.exec(command, attributes, { untagged })
    response.next()
  }

  /**
   * Reads whole messages; one at a time is in memory.
   *
   * @param {string} range - of UIDs
   * @returns {AsyncGenerator<{ uid: number, bytes: Buffer }>} those that are there
   */
  async *readWhole(range) {
    for await (const { uid, source } of this.#flow.fetch(
      range,
      { uid: true, source: true },
      { uid: true }
    )) {
      if (source) yield { uid, bytes: source }
    }
  }

  /**
   * Reads one message, window by window.
   *
   * @param {Pick<SourceMessage, 'uid' | 'sizeBytes'>} message
   * @returns {AsyncGenerator<Buffer>}
   * @throws {Error} where the message is gone, or the server gives no more of it, before its end
   */
  async *readWindows({ uid, sizeBytes }) {
    for (let start = 0; ;) {
      const source = { start, maxLength: WINDOW_BYTES }
      const message = await this.#flow.fetchOne(String(uid), { uid: true, source }, { uid: true })
      const bytes = message ? message.source : undefined
      // A window behind the end is an empty string (RFC 9051 §6.4.5); some servers say NIL.
      const isCut = start > 0 && (!message || (!bytes && start < sizeBytes))
      if (isCut) throw new Error('the server gave only the beginning of this message')
      if (!message) throw new Error(NOT_GIVEN)
      if (!bytes || bytes.length === 0) return
      yield bytes
      // A longer answer is the whole message, from a server that knows no windows.
      if (bytes.length !== WINDOW_BYTES) return
      start += bytes.length
    }
  }

  /** Logs out, and does not wait long for the answer. */
  async close() {
    const bye = this.#flow.logout().catch(() => {})
    const patience = new Promise((resolve) => setTimeout(resolve, 2000).unref())
    await Promise.race([bye, patience])
    this.#flow.close()
  }
}

/**
 * @param {ReadonlySet<string>} attributes - of a folder, in any case (RFC 9051 §9): some servers write `\NoSelect`
 * @returns {boolean} whether it cannot be opened
 */
const isOnlyName = (attributes) =>
  [...attributes].some((attribute) => /^\\(noselect|nonexistent)$/i.test(attribute))

/**
 * @param {string} path
 * @param {string | undefined} delimiter
 * @param {string} prefix
 * @returns {string[]}
 */
function levelsOf(path, delimiter, prefix) {
  const own = prefix !== '' && path.startsWith(prefix) ? path.slice(prefix.length) : path
  return delimiter ? own.split(delimiter) : [own]
}

/**
 * @param {Untagged} untagged - `* SEARCH 1 2 3`, or `* ESEARCH (TAG "A1") UID ALL 1:3` as servers of IMAP4rev2 answer
 * @returns {Generator<number>}
 */
function* foundUids({ attributes }) {
  if (!Array.isArray(attributes)) return
  const words = attributes.map((token) => textOf(token) ?? '')
  const at = words.findIndex((word) => word.toUpperCase() === 'ALL')
  const ranges = at === -1 ? words : (words[at + 1] ?? '').split(',')
  for (const range of ranges) {
    const [first = 0, last = first] = range.split(':').map(Number)
    if (!isUid(first) || !isUid(last)) continue
    for (let uid = Math.min(first, last); uid <= Math.max(first, last); uid++) yield uid
  }
}

/**
 * @param {number} number
 * @returns {boolean} whether the number can be a UID or a UIDVALIDITY
 */
const isUid = (number) => Number.isSafeInteger(number) && number > 0 && number < 2 ** 32

/**
 * @param {Untagged} untagged
 * @returns {SourceMessage | null} null for an answer that is about something else, such as flags that somebody changes
 *   meanwhile
 */
function toSourceMessage({ attributes }) {
  const values = /** @type {Map<string, unknown>} */ (new Map())
  const items = Array.isArray(attributes) && Array.isArray(attributes[1]) ? attributes[1] : []
  for (let at = 0; at + 1 < items.length; at += 2) {
    values.set(String(textOf(items[at])).toUpperCase(), items[at + 1])
  }
  const uid = Number(textOf(values.get('UID')))
  const sizeBytes = Number(textOf(values.get('RFC822.SIZE')))
  const flags = values.get('FLAGS')
  if (!isUid(uid) || !values.has('RFC822.SIZE')) return null
  return {
    uid,
    flags: Array.isArray(flags) ? flags.map(textOf).filter((flag) => flag !== null) : [],
    internalDate: dateOf(textOf(values.get('INTERNALDATE'))),
    sizeBytes: Number.isSafeInteger(sizeBytes) ? sizeBytes : 0
  }
}

/**
 * @param {unknown} token
 * @returns {string | null}
 */
function textOf(token) {
  const value = /** @type {{ value?: unknown } | null | undefined} */ (token)?.value
  return typeof value === 'string' ? value : null
}

/**
 * @param {string | null} text
 * @returns {ZonedDate | null}
 */
function dateOf(text) {
  if (text === null) return null
  try {
    return parseInternalDate(text)
  } catch (error) {
    if (error instanceof SyntaxFailure) return null
    throw error
  }
}
