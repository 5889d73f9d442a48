/**
 * Keeps the audit log within its limits by removing a few events with each write: the events of a whole day at once, or of a
 * year after `audit.days` was lowered, would hold up the process.
 *
 * Where there are too many events, whoever has most of them, one tenant or the host, loses the oldest: so nobody's events push
 * out those of others, however many they make.
 */
import { KEPT_ACTIONS } from './directory-audit.js'

/** @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection */

const DAY_MS = 24 * 3_600_000
/** An event that is 1 to so many days old says that the clock is right, also where events are kept for fewer days. */
const SURE_DAYS = 30
/** Whoever has most events loses so many of them, or a tenth if that is less, before it is looked who has most now. */
const EVENTS_PER_TURN = 100

/** Events of the host that strangers make by the thousand: they go before its others. */
const OF_STRANGERS =
  "INDEXED BY audit_of_strangers WHERE tenant_id IS NULL AND action IN ('login-failed', 'login-throttled')"

/** Inside transactions of the caller. */
export class AuditPruning {
  #connection
  #limits

  /**
   * @param {DirectoryConnection} connection
   * @param {import('./audit-limits.js').AuditLimits} limits
   */
  constructor(connection, limits) {
    this.#connection = connection
    this.#limits = limits
  }

  /**
   * A clock that is years ahead for an hour must not empty the audit log: all older events would be gone, and the backups
   * would not learn whose keys are to go.
   *
   * @returns {boolean} whether an event of a day ago or more is dated near the clock's present time
   */
  get isTimeSure() {
    const nowMs = this.#connection.clock.nowMs()
    const days = Math.max(this.#limits.days, SURE_DAYS)
    const event = this.#connection.prepare(
      'SELECT 1 FROM audit WHERE at_ms BETWEEN $fromMs AND $toMs LIMIT 1'
    )
    const found = event.get({ fromMs: nowMs - days * DAY_MS, toMs: nowMs - DAY_MS })
    return found !== undefined
  }

  /**
   * @param {number} limit - events
   * @returns {boolean} whether there may be more that are too old
   */
  removeOld(limit) {
    const { days, deletionDays = 0 } = this.#limits
    const nowMs = this.#connection.clock.nowMs()
    const removed = this.#connection
      .prepare(
        `DELETE FROM audit WHERE id IN
           (SELECT id FROM audit WHERE at_ms < $beforeMs AND NOT (action IN ${KEPT_ACTIONS} AND at_ms >= $keptAfterMs)
            LIMIT $limit)
         RETURNING iif(action IN ${KEPT_ACTIONS}, NULL, coalesce(tenant_id, '')) AS share`
      )
      .all({
        beforeMs: nowMs - days * DAY_MS,
        keptAfterMs: nowMs - deletionDays * DAY_MS,
        limit
      })
    /** @type {Map<string, number>} */
    const counts = new Map()
    for (const { share } of removed)
      if (share !== null) counts.set(share, (counts.get(share) ?? 0) + 1)
    for (const [tenant, count] of counts) this.#take(tenant, count)
    return removed.length === limit
  }

  /**
   * @param {number} limit - events
   * @returns {boolean} whether there are still too many
   */
  removeExcess(limit) {
    const excess = this.#excess()
    for (let left = Math.min(excess, limit); left > 0;) {
      const [largest, second] = this.#connection
        .prepare(
          'SELECT tenant, events, gone_id FROM audit_shares WHERE events > 0 ORDER BY events DESC LIMIT 2'
        )
        .all()
      if (!largest) return false
      const lead = largest.events - (second?.events ?? 0)
      const step = Math.min(EVENTS_PER_TURN, Math.ceil(largest.events / 10))
      const count = Math.min(left, Math.max(step, lead))
      const isLeft = this.#removeOldest(largest, count) === count
      // A tenant that has no event left has no share either, whatever was counted.
      const taken = isLeft ? count : largest.events
      this.#take(largest.tenant, taken)
      left -= taken
    }
    return excess > limit
  }

  /** @returns {number} events beyond the limit */
  #excess() {
    const { maxEvents } = this.#limits
    // No id is given twice: as long as the range of ids is within the limit, the events are, too.
    const ends = this.#connection
      .prepare('SELECT (SELECT min(id) FROM audit) AS first, (SELECT max(id) FROM audit) AS last')
      .get()
    if (ends.last - ends.first < maxEvents) return 0
    const { events } = this.#connection
      .prepare('SELECT coalesce(sum(events), 0) AS events FROM audit_shares')
      .get()
    return events - maxEvents
  }

  /**
   * @param {{ tenant: string, gone_id: number }} share
   * @param {number} count
   * @returns {number} how many of `count` there were to remove
   */
  #removeOldest({ tenant, gone_id: goneId }, count) {
    const remove = (/** @type {string} */ which, /** @type {object} */ values) =>
      this.#connection
        .prepare(
          `DELETE FROM audit WHERE id IN (SELECT id FROM audit ${which} ORDER BY id LIMIT $limit) RETURNING id`
        )
        .all(values)
    const strangers = tenant === '' ? remove(OF_STRANGERS, { limit: count }).length : 0
    if (strangers === count) return count
    const removed = remove(
      `WHERE tenant_id IS $tenantId AND id > $goneId AND action NOT IN ${KEPT_ACTIONS}`,
      { tenantId: tenant === '' ? null : tenant, goneId, limit: count - strangers }
    )
    this.#connection
      .prepare('UPDATE audit_shares SET gone_id = $lastId WHERE tenant = $tenant')
      .run({ tenant, lastId: removed.reduce((last, { id }) => Math.max(last, id), goneId) })
    return strangers + removed.length
  }

  /**
   * @param {string} tenant
   * @param {number} count - events that the tenant has no longer
   */
  #take(tenant, count) {
    const values = { tenant, count }
    this.#connection
      .prepare('UPDATE audit_shares SET events = events - $count WHERE tenant = $tenant')
      .run(values)
    this.#connection
      .prepare('DELETE FROM audit_shares WHERE tenant = $tenant AND events <= 0')
      .run({ tenant })
  }
}
