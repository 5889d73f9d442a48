/**
 * What may be written late: last uses, usage, the audit log and the records of maintenance. It waits in memory for at most a second
 * and goes out in one transaction, so that no login waits for the disk.
 */
import { relative } from 'node:path'
import { AuditPruning } from './audit-pruning.js'
import { writeAuditEvent } from './directory-audit.js'
import { pruneMaintenanceRuns, writeMaintenanceEntry } from './directory-maintenance.js'

/**
 * @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection
 * @typedef {import('./directory-port.js').AuditEvent} AuditEvent
 * @typedef {import('./directory-port.js').MailboxUsage} MailboxUsage
 * @typedef {import('./directory-port.js').MaintenanceEntry} MaintenanceEntry
 *
 * @typedef {object} Batch
 * @property {Map<string, number>} uses
 * @property {Map<string, number>} tokenUses
 * @property {Map<string, MailboxUsage>} usage
 * @property {(AuditEvent & { atMs: number })[]} events
 * @property {number} droppedEvents
 * @property {MaintenanceEntry[]} maintenance
 */

/** Anything waits at most so many ms: with the half second that a store waits, usage is on disk within a second. */
const FLUSH_INTERVAL_MS = 400
/** While the disk refuses, the log says so once in so many ms, and not at each attempt, which would fill the log's disk. */
const TOLD_INTERVAL_MS = 60_000
/** At most so many audit events wait in memory while the disk refuses or the file is locked; any more are only counted. */
const MAX_WAITING_EVENTS = 10_000
/** One write removes at most so many old rows of a kind, besides as many as it adds: some 10 ms. The next write goes on. */
const PRUNED_ROWS = 500
/** Events that are too old are looked for once in so many ms, a day. */
const PRUNE_INTERVAL_MS = 24 * 3_600_000

/** Anybody can cause thousands of these: within one write, events alike in all but their time are one row with a count. */
const COUNTED_ACTIONS = new Set([
  'login-failed',
  'login-throttled',
  'page-login',
  'session-end',
  'mailbox-download',
  'api-write'
])

/** @type {import('./audit-limits.js').AuditLimits} */
const AUDIT_LIMITS = { days: 365, maxEvents: 1_000_000 }

/** Collects what may be written late, and writes it within a second. */
export class DirectoryBatch {
  /** @type {Map<string, number>} */
  #uses = new Map()
  /** @type {Map<string, number>} */
  #tokenUses = new Map()
  /** @type {Map<string, MailboxUsage>} */
  #usage = new Map()
  /** @type {(AuditEvent & { atMs: number })[]} */
  #events = []
  /** @type {Map<string, AuditEvent>} those of `#events` whose action is one of COUNTED_ACTIONS */
  #counted = new Map()
  #droppedEvents = 0
  /** @type {MaintenanceEntry[]} */
  #maintenance = []
  /** How many entries a running write has: should it fail they come back, and until then they count as waiting. */
  #inHand = { events: 0, maintenance: 0 }
  #prunedAtMs = Number.NEGATIVE_INFINITY
  /** Whether the last write has left rows that are too old or too many. */
  #hasOldRows = false
  #toldAtMs = Number.NEGATIVE_INFINITY
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  /** @type {Promise<void>} */
  #flushing = Promise.resolve()

  #auditPruning

  /**
   * @param {{ connection: DirectoryConnection, dataFolder: string }} place
   * @param {import('./audit-limits.js').AuditLimits} [auditLimits]
   */
  constructor({ connection, dataFolder }, auditLimits = AUDIT_LIMITS) {
    this.connection = connection
    this.dataFolder = dataFolder
    this.#auditPruning = new AuditPruning(connection, auditLimits)
  }

  /** @param {string} credentialId */
  recordUse(credentialId) {
    this.#uses.set(credentialId, this.connection.clock.nowMs())
    this.#schedule()
  }

  /** @param {string} tokenId */
  recordTokenUse(tokenId) {
    this.#tokenUses.set(tokenId, this.connection.clock.nowMs())
    this.#schedule()
  }

  /**
   * @param {string} accountId
   * @param {MailboxUsage} usage
   */
  recordUsage(accountId, usage) {
    this.#usage.set(accountId, usage)
    this.#schedule()
  }

  /** @param {AuditEvent} event */
  audit(event) {
    const { action, accountId, remoteAddress, tenant, detail } = event
    const key = COUNTED_ACTIONS.has(action)
      ? JSON.stringify([action, accountId, remoteAddress, tenant, detail])
      : null
    const alike = key === null ? undefined : this.#counted.get(key)
    if (alike) {
      alike.detail = { ...alike.detail, count: Number(alike.detail?.['count'] ?? 1) + 1 }
      return
    }
    if (this.#inHand.events + this.#events.length >= MAX_WAITING_EVENTS) this.#droppedEvents++
    else {
      const waiting = { ...event, atMs: this.connection.clock.nowMs() }
      this.#events.push(waiting)
      if (key !== null) this.#counted.set(key, waiting)
    }
    this.#schedule()
  }

  /** @param {MaintenanceEntry} entry */
  recordMaintenance(entry) {
    // An entry that is lost costs nothing but a job that runs once more.
    if (this.#inHand.maintenance + this.#maintenance.length < MAX_WAITING_EVENTS)
      this.#maintenance.push(entry)
    this.#schedule()
  }

  /**
   * Writes what waits. If the write fails, all of it waits again.
   *
   * @returns {Promise<void>}
   */
  flush() {
    this.#flushing = this.#flushing.then(
      () => this.#write(),
      () => this.#write()
    )
    return this.#flushing
  }

  /** Stops the timer, after a last flush. */
  async close() {
    try {
      await this.flush()
    } finally {
      if (this.#timer) clearTimeout(this.#timer)
      this.#timer = null
    }
  }

  #schedule() {
    if (this.#timer) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.flush().catch((error) => {
        this.#tell(error)
        this.#schedule()
      })
    }, FLUSH_INTERVAL_MS)
    // A program that has nothing else to do may end: close() flushes.
    this.#timer.unref()
  }

  /** @param {unknown} err - of a write that will be tried again */
  #tell(err) {
    const { clock, logger } = this.connection
    const nowMs = clock.nowMs()
    // Math.abs: the clock may have been set back meanwhile.
    if (Math.abs(nowMs - this.#toldAtMs) < TOLD_INTERVAL_MS) return
    this.#toldAtMs = nowMs
    logger.error({ err }, 'directory: writing failed, tried again')
  }

  async #write() {
    const uses = this.#uses
    const tokenUses = this.#tokenUses
    const usage = this.#usage
    const events = this.#events
    const droppedEvents = this.#droppedEvents
    const maintenance = this.#maintenance
    this.#uses = new Map()
    this.#tokenUses = new Map()
    this.#usage = new Map()
    this.#events = []
    this.#counted.clear()
    this.#droppedEvents = 0
    this.#maintenance = []
    this.#inHand = { events: events.length, maintenance: maintenance.length }
    try {
      const waiting = uses.size + tokenUses.size + usage.size + events.length + maintenance.length
      if (waiting > 0 || this.#hasOldRows) {
        const batch = { uses, tokenUses, usage, events, droppedEvents, maintenance }
        this.#hasOldRows = await this.connection.write(() => {
          this.#writeRows(batch)
          return this.#prune(events.length)
        })
        if (this.#hasOldRows) this.#schedule()
      }
      this.connection.settleTruncation()
    } catch (error) {
      // Figures that were noted since win over those of the failed write; events keep their order.
      this.#uses = new Map([...uses, ...this.#uses])
      this.#tokenUses = new Map([...tokenUses, ...this.#tokenUses])
      this.#usage = new Map([...usage, ...this.#usage])
      this.#events = [...events, ...this.#events]
      this.#droppedEvents += droppedEvents
      this.#maintenance = [...maintenance, ...this.#maintenance]
      throw error
    } finally {
      this.#inHand = { events: 0, maintenance: 0 }
    }
  }

  /** @param {Batch} batch */
  #writeRows({ uses, tokenUses, usage, events, droppedEvents, maintenance }) {
    const { connection } = this
    const use = connection.prepare('UPDATE credentials SET last_used_at_ms = ? WHERE id = ?')
    for (const [credentialId, atMs] of uses) use.run(atMs, credentialId)
    const tokenUse = connection.prepare('UPDATE api_tokens SET last_used_at_ms = ? WHERE id = ?')
    for (const [tokenId, atMs] of tokenUses) tokenUse.run(atMs, tokenId)
    // Nothing is written if the account has another mailbox by now: what the old one held is no usage any more.
    const used = connection.prepare(
      'UPDATE accounts SET used_bytes = ?, used_messages = ? WHERE id = ? AND folder = coalesce(?, folder)'
    )
    for (const [accountId, { bytes, messages, folder }] of usage) {
      const stored = folder === undefined ? null : relative(this.dataFolder, folder)
      used.run(bytes, messages, accountId, stored)
    }
    for (const event of events) writeAuditEvent(connection, event)
    if (droppedEvents > 0) {
      const detail = { dropped: droppedEvents }
      const atMs = connection.clock.nowMs()
      writeAuditEvent(connection, { atMs, action: 'audit-overflow', detail })
    }
    for (const entry of maintenance) writeMaintenanceEntry(connection, entry)
  }

  /**
   * Removes some of the rows that are too old or too many.
   *
   * @param {number} added - events that the same write adds
   * @returns {boolean} whether more is left
   */
  #prune(added) {
    const { connection } = this
    const nowMs = connection.clock.nowMs()
    const limit = added + PRUNED_ROWS
    let hasMore = false
    if (Math.abs(nowMs - this.#prunedAtMs) >= PRUNE_INTERVAL_MS && this.#auditPruning.isTimeSure) {
      const hasOldRuns = pruneMaintenanceRuns(connection, PRUNED_ROWS)
      const hasOldEvents = this.#auditPruning.removeOld(limit)
      hasMore = hasOldRuns || hasOldEvents
      if (!hasMore) this.#prunedAtMs = nowMs
    }
    return this.#auditPruning.removeExcess(limit) || hasMore
  }
}
