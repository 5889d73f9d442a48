/**
 * Copies the mailboxes of a damaged file, and the small tables of the account. Ids, names, UIDVALIDITY and UIDNEXT stay
 * as they are, so that clients need not download everything again.
 */
import { prepared } from '../../database/statement.js'
import { runTransaction } from '../../database/transaction.js'
import { MailError } from '../../errors.js'
import { findMailboxRow, insertMailboxRow } from '../mailbox-rows.js'
import { UNREADABLE, readableEnds, readableRows, tryRead } from './readable-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} SalvagedMailbox
 * @property {number} id
 * @property {string} name
 * @property {number} modSeq - what changes by the salvage gets at least this mod-sequence
 * @property {number} uidReserve - how far the next UID must keep from the highest that is there
 * @property {number} modSeqReserve - the same for mod-sequences
 * @property {boolean} hasLoss - messages, or what is known of earlier expunges
 */

/** Where the highest id or UID ever given is lost, it is taken to be less than this above the highest that is there. */
const ID_RESERVE = 2 ** 20

/** The same for mod-sequences. */
const MODSEQ_RESERVE = 2 ** 32

/** And for ids of mailboxes, which end at 2^21. */
const MAILBOX_RESERVE = 2 ** 10

/** Tables that a file of an older program may lack, with their keys. */
const NEWER_TABLES = /** @type {ReadonlyArray<readonly [string, string]>} */ ([
  ['imap_folders', 'id'],
  ['past_uid_validities', 'uid_validity']
])

const ignore = () => {}

/**
 * @param {Database} from - the damaged file
 * @param {Database} to - a new file, without mailboxes
 * @returns {Map<number, SalvagedMailbox>} by id
 */
export function salvageMailboxes(from, to) {
  /** @type {Map<number, SalvagedMailbox>} */
  const mailboxes = new Map()
  const table = { name: 'mailboxes', key: 'id', columns: '*' }
  const insert = to.prepare(
    `INSERT INTO mailboxes (id, name, special_use, uid_validity, uid_next, highest_modseq, recent_from_uid,
       expunged_floor, created_at, message_count, unseen_count, deleted_count, total_bytes)
     VALUES ($id, $name, $special_use, $uid_validity, $uid_next, $highest_modseq, $recent_from_uid,
       $expunged_floor, $created_at, 0, 0, 0, 0)`
  )
  runTransaction(to, () => {
    for (const row of readableRows(from, table, ignore)) {
      insert.run(row)
      const modSeq = row.highest_modseq + 1
      const { id, name } = row
      mailboxes.set(id, { id, name, modSeq, hasLoss: false, uidReserve: 1, modSeqReserve: 1 })
    }
  })
  return mailboxes
}

/**
 * Makes a mailbox whose row is lost. Its name and its UIDVALIDITY also stand in the indexes that keep them unique; what is
 * lost there too is made up, and with another UIDVALIDITY clients begin anew.
 *
 * @param {Database} from - the damaged file
 * @param {Database} to
 * @param {number} id
 * @param {number} nowMs
 * @returns {SalvagedMailbox & { isRenamed: boolean }}
 */
export function inventMailbox(from, to, id, nowMs) {
  const known = {
    name: readIndexed(from, 'name', id),
    uidValidity: readIndexed(from, 'uid_validity', id)
  }
  let name = known.name === null ? `Recovered ${id}` : String(known.name)
  while (findMailboxRow(to, name)) name += ' again'
  const made = insertMailboxRow(to, { name, specialUse: null, nowMs })
  prepared(
    to,
    'UPDATE mailboxes SET id = ?, uid_next = ?, uid_validity = coalesce(?, uid_validity) WHERE id = ?'
  ).run(id, 1, known.uidValidity, made.id)
  return {
    id,
    name,
    modSeq: made.highestModSeq,
    hasLoss: true,
    uidReserve: ID_RESERVE,
    modSeqReserve: MODSEQ_RESERVE,
    isRenamed: known.name === null
  }
}

/**
 * @param {Database} from
 * @returns {number[]} ids of the mailboxes that the index of names knows
 */
export function namedMailboxes(from) {
  return readableEnds(from, 'SELECT name, id FROM mailboxes', ['name'], ignore).map(({ id }) => id)
}

/**
 * @param {Database} from
 * @param {'name' | 'uid_validity'} column - that an index covers: the row itself is not read
 * @param {number} id
 * @returns {string | number | null}
 */
function readIndexed(from, column, id) {
  const rows = readableEnds(from, `SELECT ${column}, id FROM mailboxes`, [column], ignore)
  return rows.find((row) => row.id === id)?.[column] ?? null
}

/**
 * Every account has an INBOX (RFC 9051 §5.1), also one whose mailboxes are all lost.
 *
 * @param {Database} to
 * @param {number} nowMs
 */
export function requireInbox(to, nowMs) {
  if (!findMailboxRow(to, 'INBOX')) insertMailboxRow(to, { name: 'INBOX', specialUse: null, nowMs })
}

/**
 * Copies keywords, subscriptions, what was drained and imported and from where, the UIDVALIDITYs of before, and the log of
 * expunges as far as it is whole.
 *
 * @param {Database} from
 * @param {Database} to
 * @param {Map<number, SalvagedMailbox>} mailboxes
 */
export function salvageAccount(from, to, mailboxes) {
  const account = tryRead(() => /** @type {any} */ (from.prepare('SELECT * FROM account').get()))
  runTransaction(to, () => {
    to.prepare(
      'UPDATE account SET last_uid_validity = max(last_uid_validity, ?, (SELECT coalesce(max(uid_validity), 0) FROM mailboxes))'
    ).run(account === UNREADABLE ? 0 : account.last_uid_validity)
    if (account !== UNREADABLE)
      to.prepare('UPDATE account SET created_at = ?, lifts = ?').run(
        account.created_at,
        account.lifts ?? 0
      )
    // By name, once more: the index of the names has all keywords as well.
    for (const key of ['number', 'name']) copyTable(from, to, { name: 'keywords', keys: [key] })
    copyTable(from, to, { name: 'subscriptions', keys: ['name'] })
    copyTable(from, to, { name: 'drained', keys: ['spool_name'] })
    copyTable(from, to, { name: 'import_log', keys: ['key'] })
    for (const [name, key] of NEWER_TABLES)
      if (hasTable(from, name)) copyTable(from, to, { name, keys: [key] })
    const isLogWhole = copyTable(
      from,
      to,
      { name: 'expunged', keys: ['mailbox_id', 'modseq', 'first_uid'] },
      (row) => mailboxes.has(row.mailbox_id)
    )
    if (!isLogWhole) for (const mailbox of mailboxes.values()) mailbox.hasLoss = true
  })
}

/**
 * Forgets the imports of messages that are lost, so that they may be imported again. Deleted ones may not be.
 *
 * @param {Database} to
 * @param {readonly number[]} lostIds - of `messages`
 */
export function forgetImports(to, lostIds) {
  to.prepare('DELETE FROM import_log WHERE message_id IN (SELECT value FROM json_each(?))').run(
    JSON.stringify(lostIds)
  )
}

/**
 * @param {Database} from
 * @param {Database} to
 * @param {{ name: string, keys: string[] }} table
 * @param {(row: any) => boolean} [isWanted]
 * @returns {boolean} whether all of it could be read
 */
function copyTable(from, to, { name, keys }, isWanted = () => true) {
  let isWhole = true
  const rows = readableEnds(from, `SELECT * FROM ${name}`, keys, () => {
    isWhole = false
  })
  for (const row of rows.filter(isWanted)) {
    const columns = Object.keys(row)
    const marks = columns.map((column) => `$${column}`).join(', ')
    prepared(to, `INSERT OR IGNORE INTO ${name} (${columns.join(', ')}) VALUES (${marks})`).run(row)
  }
  return isWhole
}

/**
 * @param {unknown} [cause]
 * @returns {MailError}
 */
export const schemaLost = (cause) =>
  new MailError('ACCOUNT_DAMAGED', {
    detail: 'the schema cannot be read: only a backup can bring this mailbox back',
    cause
  })

/**
 * @param {Database} from
 * @param {string} name
 * @returns {boolean}
 * @throws {MailError} ACCOUNT_DAMAGED where nobody can tell
 */
export function hasTable(from, name) {
  const found = tryRead(() =>
    from.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name)
  )
  if (found === UNREADABLE) throw schemaLost()
  return found !== undefined
}

/**
 * Takes over what the counters of the old file said, so that no id is given twice.
 *
 * @param {Database} from
 * @param {Database} to
 * @param {number} highestContentId - that any message refers to
 */
export function salvageCounters(from, to, highestContentId) {
  const counters = hasTable(from, 'sqlite_sequence')
    ? tryRead(
        () =>
          /** @type {{ name: string, seq: number }[]} */ (
            from.prepare('SELECT name, seq FROM sqlite_sequence').all()
          )
      )
    : UNREADABLE
  const known = new Map(counters === UNREADABLE ? [] : counters.map(({ name, seq }) => [name, seq]))
  const highestMailboxId = /** @type {number} */ (
    to.prepare('SELECT coalesce(max(id), 0) FROM mailboxes').pluck().get()
  )
  const wanted = /** @type {const} */ ([
    ['contents', known.get('contents') ?? highestContentId + ID_RESERVE],
    ['mailboxes', known.get('mailboxes') ?? highestMailboxId + MAILBOX_RESERVE],
    // Where it is lost: keys in import_log may name folders whose rows are lost as well.
    ['imap_folders', known.get('imap_folders') ?? (counters === UNREADABLE ? ID_RESERVE : 0)]
  ])
  for (const [name, sequence] of wanted) {
    const { changes } = to
      .prepare('UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?')
      .run(sequence, name)
    if (changes === 0)
      to.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(name, sequence)
  }
}
