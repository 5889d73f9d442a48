/**
 * CREATE, DELETE, RENAME, SUBSCRIBE. Everything here runs inside a transaction or read of the caller.
 */
import { MailError } from '../errors.js'
import { prepared } from '../database/statement.js'
import { copyRows } from './copy-move.js'
import {
  bareMailboxName,
  DELIMITER,
  normalizeMailboxName,
  requireMailboxName
} from './mailbox-name.js'
import { findMailboxRow, insertMailboxRow, requireMailboxRow } from './mailbox-rows.js'
import { USUAL_MAILBOXES } from './usual-mailboxes.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./mailbox-rows.js').MailboxRow} MailboxRow
 * @typedef {{ id: number, name: string }} NamedMailbox
 *
 * @typedef {object} RenameRequest
 * @property {string} from - not INBOX
 * @property {string} to
 */

/** Mailboxes of one account: LIST is read and sent as a whole. */
const MAX_MAILBOXES = 20_000

/** Subscriptions of one account: they outlive mailboxes, so they need a bound of their own. */
const MAX_SUBSCRIPTIONS = 40_000

const BELOW = 'FROM mailboxes WHERE name > ? AND name < ?'

/**
 * A range instead of LIKE, whose wildcards may stand in names: '0' follows the delimiter '/'.
 *
 * @param {string} name
 * @returns {[string, string]} the parameters of BELOW
 */
const boundsBelow = (name) => [`${name}/`, `${name}0`]

/**
 * @param {Database} db
 * @param {string} name
 * @returns {NamedMailbox[]} mailboxes below it
 */
function childrenOf(db, name) {
  return /** @type {NamedMailbox[]} */ (
    prepared(db, `SELECT id, name ${BELOW} ORDER BY name`).all(...boundsBelow(name))
  )
}

/**
 * @param {Database} db
 * @param {string} name
 * @param {number} count
 * @returns {boolean} whether there are more than so many mailboxes below it
 */
export const hasMoreBelow = (db, name, count) =>
  Number(
    prepared(db, `SELECT count(*) FROM (SELECT 1 ${BELOW} LIMIT ? + 0)`, 'value').get(
      ...boundsBelow(name),
      count + 1
    )
  ) > count

/**
 * @param {Database} db
 * @param {string} name
 * @param {{ specialUse: string | null, nowMs: number }} options
 * @returns {MailboxRow}
 * @throws {MailError} MAILBOX_EXISTS, CANNOT, LIMIT; USE_REFUSED where another mailbox has that use
 */
export function createMailboxRow(db, name, { specialUse, nowMs }) {
  const wanted = requireMailboxName(name)
  if (findMailboxRow(db, wanted)) throw new MailError('MAILBOX_EXISTS')
  requireRoom(db, 'mailboxes', MAX_MAILBOXES)
  // Two mailboxes of one use would leave each client to guess where the user's mail is (RFC 6154 §3 leaves it to us).
  if (specialUse !== null && !isFreeUse(db, specialUse)) throw new MailError('USE_REFUSED')
  return insertMailboxRow(db, { name: wanted, specialUse, nowMs })
}

/**
 * @param {Database} db
 * @param {string} use
 * @returns {boolean}
 */
const isFreeUse = (db, use) =>
  prepared(db, 'SELECT 1 FROM mailboxes WHERE special_use = ?', 'value').get(use) === undefined

/**
 * Most clients that make a folder anew which they have deleted before do not say what for.
 *
 * @param {Database} db
 * @param {string} name - of a mailbox that is asked for without a use
 * @returns {string | null} the use of the usual mailbox of that name, unless another has it
 */
export function usualUse(db, name) {
  const [, use = null] = USUAL_MAILBOXES.find(([usual]) => usual === bareMailboxName(name)) ?? []
  return use !== null && isFreeUse(db, use) ? use : null
}

/**
 * @param {Database} db
 * @param {'mailboxes' | 'subscriptions'} table
 * @param {number} limit
 */
function requireRoom(db, table, limit) {
  const count = /** @type {number} */ (prepared(db, `SELECT count(*) FROM ${table}`, 'value').get())
  if (count >= limit) throw new MailError('LIMIT', { detail: `too many ${table}` })
}

/**
 * Deletes the mailbox; mailboxes below it stay (RFC 9051 §6.3.5). Its messages are left to the sweep: nobody can
 * reach them any more, and their number would hold up the event loop.
 *
 * @param {Database} db
 * @param {string} name
 * @returns {number} id
 * @throws {MailError} MAILBOX_NOT_FOUND; CANNOT for INBOX; MAILBOX_HAS_CHILDREN where only a level of names is left
 */
export function deleteMailboxRow(db, name) {
  const normal = normalizeMailboxName(name)
  if (normal === 'INBOX') throw new MailError('CANNOT', { detail: 'INBOX stays' })
  const mailbox = findMailboxRow(db, normal)
  if (!mailbox) {
    const code = childrenOf(db, normal).length > 0 ? 'MAILBOX_HAS_CHILDREN' : 'MAILBOX_NOT_FOUND'
    throw new MailError(code)
  }
  prepared(db, 'DELETE FROM mailboxes WHERE id = ?').run(mailbox.id)
  if (mailbox.messageCount > 0)
    prepared(db, 'INSERT INTO garbage_mailboxes (mailbox_id) VALUES (?)').run(mailbox.id)
  return mailbox.id
}

/**
 * Renames a mailbox and all below it (RFC 9051 §6.3.6). UIDVALIDITY stays: it is unique in the account, so the new
 * name has never had it.
 *
 * @param {Database} db
 * @param {RenameRequest} request
 * @returns {NamedMailbox[]} the renamed, with their new names
 * @throws {MailError} MAILBOX_NOT_FOUND, MAILBOX_EXISTS, CANNOT, LIMIT
 */
export function renameMailboxRows(db, { from, to }) {
  const given = normalizeMailboxName(from)
  const target = requireMailboxName(to)
  const mailbox = findMailboxRow(db, given)
  // It may have been found under its composed name.
  const source = mailbox?.name ?? given
  const moved = [...(mailbox ? [mailbox] : []), ...childrenOf(db, source)]
  if (moved.length === 0) throw new MailError('MAILBOX_NOT_FOUND')
  if (findMailboxRow(db, target)) throw new MailError('MAILBOX_EXISTS')
  if (target.startsWith(source + DELIMITER))
    throw new MailError('CANNOT', { detail: 'a mailbox cannot move below itself' })
  const renamed = moved.map(({ id, name }) => ({
    id,
    name: requireMailboxName(target + name.slice(source.length))
  }))
  // Where all moves up by a level, `a/a/x` takes the name that `a/x` had: the shorter one goes first.
  renamed.sort((one, other) => one.name.length - other.name.length)
  const update = prepared(db, 'UPDATE mailboxes SET name = ? WHERE id = ?')
  for (const { id, name } of renamed) {
    if (findMailboxRow(db, name)) throw new MailError('MAILBOX_EXISTS')
    update.run(name, id)
  }
  return renamed
}

/**
 * RENAME of INBOX: a new mailbox takes all its messages, INBOX stays, empty; mailboxes below it stay
 * (RFC 9051 §6.3.6).
 *
 * @param {Database} db
 * @param {{ to: string, nowMs: number }} request
 * @returns {{ inboxId: number, result: import('./copy-move.js').CopyResult }}
 * @throws {MailError} MAILBOX_EXISTS, CANNOT, LIMIT
 */
export function renameInbox(db, { to, nowMs }) {
  const inbox = requireMailboxRow(db, 'INBOX')
  const { name } = createMailboxRow(db, to, { specialUse: null, nowMs })
  const result = copyRows(db, {
    fromMailboxId: inbox.id,
    toMailbox: name,
    uids: null,
    isMove: true,
    quota: null,
    nowMs
  })
  return { inboxId: inbox.id, result }
}

/**
 * A subscription is a name; its mailbox need not exist (RFC 3501 §6.3.6).
 *
 * @param {Database} db
 * @param {string} name
 * @param {boolean} isSubscribed
 * @returns {boolean} whether it was otherwise before
 * @throws {MailError} CANNOT, LIMIT
 */
export function setSubscription(db, name, isSubscribed) {
  if (!isSubscribed) {
    const remove = prepared(db, 'DELETE FROM subscriptions WHERE name = ?')
    return remove.run(bareMailboxName(name)).changes > 0
  }
  const wanted = requireMailboxName(name)
  if (prepared(db, 'SELECT 1 FROM subscriptions WHERE name = ?', 'value').get(wanted)) return false
  requireRoom(db, 'subscriptions', MAX_SUBSCRIPTIONS)
  prepared(db, 'INSERT INTO subscriptions (name) VALUES (?)').run(wanted)
  return true
}

/**
 * @param {Database} db
 * @param {string} after - a name
 * @param {number} limit
 * @returns {string[]} by name
 */
export function readSubscriptionPage(db, after, limit) {
  return /** @type {string[]} */ (
    prepared(
      db,
      'SELECT name FROM subscriptions WHERE name > ? ORDER BY name LIMIT ? + 0',
      'value'
    ).all(after, limit)
  )
}
