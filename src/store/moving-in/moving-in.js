/**
 * What the import from another IMAP server needs of a mailbox beyond the port: what has come in already, and the UIDs
 * and UIDVALIDITYs of the source. Its messages themselves go through `appendMessages`, with keys of `imapImportKey`.
 */
import { MailError } from '../../errors.js'
import { prepared } from '../../database/statement.js'
import { findContent } from '../content-rows.js'
import { findMailboxRow, findMailboxRowById } from '../mailbox-rows.js'
import { deleteMailboxRow } from '../mailboxes.js'
import { messageRowId, uidOfRow } from '../row-ids.js'
import { findUidsOfContent } from '../message-queries.js'
import { finishRun } from './identity.js'
import {
  findImportFolder,
  findStrangerPage,
  forgetKnownRows,
  insertImportFolder,
  linkKnownRow,
  moveImportFolder,
  noteSourceFlagRows,
  readKnownPage,
  requireImportFolder,
  wasRenumbered
} from './import-folder-rows.js'

/**
 * @typedef {import('./import-folder-rows.js').ImportFolder} ImportFolder
 * @typedef {import('./import-folder-rows.js').KnownMessage} KnownMessage
 * @typedef {import('./import-folder-rows.js').SourceFolder} SourceFolder
 *
 * @typedef {object} OpenedFolder
 * @property {ImportFolder} folder
 * @property {string} mailboxName - where its messages go now: it may have been renamed since an earlier run
 * @property {boolean} isRenumbered - the same messages may be there, from a run before the source renumbered them
 */

/** More messages than a mailbox can hold: a page of so many is all of them, within one transaction. */
const ALL_MESSAGES = 2 ** 32

/** Rows in one look: some milliseconds. */
const PAGE_ROWS = 2000

/** Of an account: `AccountStore.movingIn`. */
export class MovingIn {
  #database
  #views

  /** @param {import('../port/parts.js').StoreParts} parts */
  constructor({ database, views }) {
    this.#database = database
    this.#views = views
  }

  /**
   * @param {Pick<SourceFolder, 'source' | 'path' | 'uidValidity'>} folder
   * @returns {Promise<string | null>} the mailbox that its messages went to in an earlier run, by its name of today
   */
  findMailbox(folder) {
    return this.#database.read((db) => {
      const known = findImportFolder(db, folder)
      return (known && findMailboxRowById(db, known.mailboxId)?.name) ?? null
    })
  }

  /**
   * Begins or resumes the copy of a folder.
   *
   * @param {SourceFolder} folder
   * @param {string} mailboxName - of a mailbox that is there, for a folder that has none yet
   * @returns {Promise<OpenedFolder>}
   * @throws {MailError} MAILBOX_NOT_FOUND, READ_ONLY
   */
  openFolder(folder, mailboxName) {
    const nowMs = this.#database.clock.nowMs()
    return this.#database.write((db) => {
      let known = findImportFolder(db, folder) ?? insertImportFolder(db, folder, mailboxName, nowMs)
      if (!findMailboxRowById(db, known.mailboxId))
        known = moveImportFolder(db, known.id, mailboxName)
      return {
        folder: known,
        mailboxName: findMailboxRowById(db, known.mailboxId)?.name ?? mailboxName,
        isRenumbered: wasRenumbered(db, folder, known.mailboxId)
      }
    })
  }

  /**
   * @param {number} folderId
   * @returns {AsyncGenerator<KnownMessage[], void, undefined>} pages of what has come in, by UID
   */
  async *readKnown(folderId) {
    for (let afterUid = 0; ;) {
      const from = afterUid
      const page = await this.#database.read((db) => readKnownPage(db, folderId, from, PAGE_ROWS))
      if (page.length === 0) return
      yield page
      afterUid = page.at(-1)?.uid ?? 0
    }
  }

  /**
   * @param {number} folderId
   * @param {readonly { uid: number, flags: string }[]} changes - flags at the source
   */
  async noteFlags(folderId, changes) {
    for (let at = 0; at < changes.length; at += PAGE_ROWS) {
      const page = changes.slice(at, at + PAGE_ROWS)
      await this.#database.write((db) => noteSourceFlagRows(db, folderId, page))
    }
  }

  /**
   * @param {number} folderId
   * @param {readonly number[]} uids - gone at the source, and settled here
   */
  async forget(folderId, uids) {
    for (let at = 0; at < uids.length; at += PAGE_ROWS) {
      const page = uids.slice(at, at + PAGE_ROWS)
      await this.#database.write((db) => forgetKnownRows(db, folderId, page))
    }
  }

  /**
   * Takes an equal message of the mailbox for the source's, instead of bringing in a second copy.
   *
   * @param {object} message
   * @param {ImportFolder} message.folder
   * @param {number} message.uid - at the source
   * @param {{ hash: Buffer, size: number }} message.content
   * @param {string} message.flags - at the source
   * @param {ReadonlySet<number>} message.taken - messages.id that are other messages of the source
   * @returns {Promise<number | null>} messages.id; null when there is none
   */
  linkEqual({ folder, uid, content: { hash, size }, flags, taken }) {
    const nowMs = this.#database.clock.nowMs()
    return this.#database.write((db) => {
      const contentId = findContent(db, hash, size)
      if (contentId === null) return null
      const { id: folderId, mailboxId } = folder
      const rowId = findUidsOfContent(db, { mailboxId, contentId, fromUid: 0 }, ALL_MESSAGES)
        .uids.map((ownUid) => messageRowId(mailboxId, ownUid))
        .find((id) => !taken.has(id))
      if (rowId === undefined) return null
      linkKnownRow(db, { folderId, uid, rowId, flags, nowMs })
      return rowId
    })
  }

  /**
   * Ends a run that has seen the whole folder: the mailbox takes over the source's UIDVALIDITY if all UIDs are the same.
   *
   * @param {object} run
   * @param {number} run.folderId
   * @param {number} run.sourceUidNext - at its beginning
   * @param {number | null} run.sourceModSeq - at its beginning
   * @returns {Promise<{ hasIdentity: boolean }>}
   */
  async finishFolder({ folderId, sourceUidNext, sourceModSeq }) {
    for (;;) {
      const { folder, version } = await this.#database.read((db) => {
        const known = requireImportFolder(db, folderId)
        return { folder: known, version: findMailboxRowById(db, known.mailboxId)?.highestModSeq }
      })
      const isSame = folder.keepsUids && !(await this.#hasStranger(folder))
      const nowMs = this.#database.clock.nowMs()
      const outcome = await this.#database.write(
        (db) => {
          // `isSame` holds only for the messages that were looked at.
          if (findMailboxRowById(db, folder.mailboxId)?.highestModSeq !== version) return null
          return finishRun(db, { folder, sourceUidNext, sourceModSeq, isSame, nowMs })
        },
        {
          onDurable: (result) => {
            if (result?.changedMailboxId) return this.#views.catchUp(result.changedMailboxId)
          }
        }
      )
      if (outcome) return { hasIdentity: outcome.hasIdentity }
    }
  }

  /**
   * Gives a mailbox the use of a folder of the source, unless it has one. An empty mailbox with that use gives it up.
   *
   * @param {string} name
   * @param {string} use - such as `\Sent`
   * @returns {Promise<boolean>} whether the mailbox has that use now
   * @throws {MailError} MAILBOX_NOT_FOUND, READ_ONLY
   */
  giveUse(name, use) {
    return this.#database.write((db) => {
      const mailbox = findMailboxRow(db, name)
      if (!mailbox) throw new MailError('MAILBOX_NOT_FOUND')
      if (mailbox.specialUse !== null) return mailbox.specialUse === use
      const holder = /** @type {{ id: number, count: number } | undefined} */ (
        prepared(db, 'SELECT id, message_count AS count FROM mailboxes WHERE special_use = ?').get(
          use
        )
      )
      if (holder && holder.count > 0) return false
      const set = prepared(db, 'UPDATE mailboxes SET special_use = ? WHERE id = ?')
      if (holder) set.run(null, holder.id)
      set.run(use, mailbox.id)
      return true
    })
  }

  /**
   * Deletes a mailbox into which no message ever came, whoever may be about to bring one.
   *
   * @param {string} name
   * @returns {Promise<boolean>} whether there was such a mailbox
   * @throws {MailError} CANNOT for INBOX, READ_ONLY
   */
  async removeUnused(name) {
    const id = await this.#database.write(
      (db) => (findMailboxRow(db, name)?.uidNext === 1 ? deleteMailboxRow(db, name) : null),
      {
        onDurable: (removed) => {
          if (removed !== null) this.#views.markDeleted(removed)
        }
      }
    )
    return id !== null
  }

  /**
   * @param {ImportFolder} folder
   * @returns {Promise<boolean>} whether a message has a UID that is not its own at the source; where the mailbox has the
   *   source's UIDVALIDITY, only those count that have come since the last run
   */
  async #hasStranger(folder) {
    const first = folder.hasIdentity ? folder.ownUidNext - 1 : 0
    for (let afterUid = /** @type {number | null} */ (first); afterUid !== null;) {
      const from = afterUid
      const page = await this.#database.read((db) => findStrangerPage(db, folder, from, PAGE_ROWS))
      if (page.hasStranger) return true
      afterUid = page.lastUid
    }
    return false
  }
}

/**
 * @param {number} rowId - messages.id
 * @returns {{ mailboxId: number, uid: number }}
 */
export function placeOfRow(rowId) {
  const uid = uidOfRow(rowId)
  return { mailboxId: (rowId - uid) / 2 ** 32, uid }
}
