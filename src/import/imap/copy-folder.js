/**
 * Copies one folder of the source, or what has changed in it since an earlier run.
 *
 * Invariants: a message is stored in the same transaction as its key, so a run that is killed anywhere repeats nothing
 * and leaves nothing out; messages are stored in the order of their UIDs; the folder counts as finished only when the run
 * has looked at every UID that the folder had at its beginning.
 */
import { MailError } from '../../errors.js'
import { mapAhead } from '../../support/map-ahead.js'
import { applyFlagChanges, expungeGone } from './folder-changes.js'
import { fetchBatch, LARGE_BYTES } from './fetch-batch.js'
import { prepareMailbox } from './prepare-mailboxes.js'
import { NOT_GIVEN } from './source-connection.js'
import { storeBatch } from './store-batch.js'
import { slices, toUidSet } from './uid-ranges.js'
import { counted } from '../../support/format.js'

/**
 * @typedef {import('../../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('../../store/moving-in/import-folder-rows.js').KnownMessage} KnownMessage
 * @typedef {import('./folder-changes.js').Target} Target
 * @typedef {import('./plan-folders.js').PlannedFolder} PlannedFolder
 * @typedef {import('./source-connection.js').OpenedSource} OpenedSource
 * @typedef {import('./source-connection.js').SourceConnection} SourceConnection
 * @typedef {import('./source-connection.js').SourceMessage} SourceMessage
 * @typedef {import('./source-pool.js').SourcePool} SourcePool
 *
 * @typedef {'safe' | 'always' | 'never'} ExpungeRule - whether messages that are gone at the source are expunged here: `safe`
 *   spares those of a folder that has lost most of its messages
 *
 * @typedef {object} FolderReport
 * @property {number} copied
 * @property {number} skipped - there from an earlier run
 * @property {number} flagged - flags changed there since
 * @property {number} expunged - gone there since, and here now
 * @property {number} kept - gone there, and left here
 * @property {number} failed
 * @property {boolean} keepsUids - the mailbox has the source's UIDs and UIDVALIDITY: clients keep what they have
 *
 * @typedef {object} FolderCopy
 * @property {AccountStore} store
 * @property {SourcePool} pool
 * @property {string} source - `user@host`
 * @property {readonly PlannedFolder[]} plan
 * @property {PlannedFolder} planned
 * @property {ExpungeRule} expunge
 * @property {AbortSignal | undefined} signal
 * @property {FolderReport} report - grows
 * @property {(progress: { done: number, total: number }) => void} onProgress
 * @property {(failure: { uid: number | null, error: unknown }) => void} onFailure - `uid`: null where it is the folder's
 */

/** One command asks for the description of at most so many messages. */
const DESCRIBED_AT_ONCE = 500

/** At most so many messages and bytes are fetched by one command and stored by one transaction. */
const BATCH_MESSAGES = 100
const BATCH_BYTES = 2 * 1024 * 1024

/** The messages of a folder are listed at most so many times: a list lacks some where messages go while it is read. */
const MAX_LISTINGS = 3

/** At most so many messages are expunged even under the rule `safe`, however few stay. */
const MAX_SAFE_EXPUNGES = 50

/** A mod-sequence up to this fits a safe integer, with room above it. */
const MAX_MODSEQ = 2n ** 52n

/** @returns {FolderReport} of a folder that nothing was done about yet */
export const emptyFolderReport = () => ({
  copied: 0,
  skipped: 0,
  flagged: 0,
  expunged: 0,
  kept: 0,
  failed: 0,
  keepsUids: false
})

/**
 * @param {FolderCopy} copy
 * @throws what ends the run of this folder
 */
export async function copyFolder(copy) {
  const { store, pool, planned, signal, report, onProgress } = copy
  const { opened, uids } = await pool.run(planned.path, (connection) =>
    listFolder(connection, planned.path)
  )
  const missing = Math.max(opened.messages - uids.length, 0)
  const { target, isRenumbered, isFinished } = await openTarget(copy, opened)
  const { known, fresh, gone } = await compare(store, target.folder.id, uids)
  report.skipped = known.length
  const tell = () => {
    const { copied, skipped, failed } = report
    onProgress({ done: copied + skipped + failed, total: uids.length })
  }
  tell()
  report.flagged = await bringFlags(copy, { target, known, opened, isFinished })
  // A UID that is not on an incomplete list may be there all the same.
  if (missing > 0) report.kept = gone.length
  else await bringExpunges(copy, { target, gone, knownCount: known.length + gone.length, report })
  const taken = isRenumbered ? new Set(known.map(({ rowId }) => rowId)) : null
  await copyFresh(copy, { target: { ...target, taken }, opened, fresh, report, tell })
  if (missing > 0) {
    report.failed += missing
    const { length } = uids
    const error = new Error(
      `the server has ${counted(opened.messages, 'message')} and lists ${length}`
    )
    copy.onFailure({ uid: null, error })
    return
  }
  if (signal?.aborted) return
  const { hasIdentity } = await store.movingIn.finishFolder({
    folderId: target.folder.id,
    sourceUidNext: opened.uidNext || (uids.at(-1) ?? 0) + 1,
    sourceModSeq: toNumber(opened.modSeq)
  })
  report.keepsUids = hasIdentity
}

/**
 * @param {SourceConnection} connection
 * @param {string} path
 * @returns {Promise<{ opened: OpenedSource, uids: number[] }>} fewer UIDs than messages where the server does not list all
 */
async function listFolder(connection, path) {
  for (let time = 1; ; time++) {
    // The folder's state is asked for before its list: a message that comes in between is seen twice rather than not at all.
    const opened = await connection.open(path, { isFresh: true })
    const uids = await connection.listUids()
    if (uids.length >= opened.messages || time === MAX_LISTINGS) return { opened, uids }
  }
}

/**
 * Opens the folder on another connection, which may find another folder in its place, where UIDs mean other messages.
 *
 * @param {SourceConnection} connection
 * @param {string} path
 * @param {OpenedSource} opened - the folder's state at the beginning
 * @throws {MailError} BUSY
 */
async function openSame(connection, path, opened) {
  const { uidValidity } = await connection.open(path)
  if (uidValidity !== opened.uidValidity)
    throw new MailError('BUSY', { detail: 'the source has renumbered the folder meanwhile' })
}

/**
 * @param {FolderCopy} copy
 * @param {OpenedSource} opened
 * @returns {Promise<{ target: Target, isRenumbered: boolean, isFinished: boolean }>}
 */
async function openTarget({ store, source, plan, planned }, { uidValidity, modSeq }) {
  const { path, mailbox } = planned
  const known = await store.movingIn.findMailbox({ source, path, uidValidity })
  if (known === null) await prepareMailbox(store, plan, planned)
  const safeModSeq = modSeq === null ? 0 : toNumber(modSeq)
  const { folder, mailboxName, isRenumbered } = await store.movingIn.openFolder(
    { source, path, uidValidity, modSeq: safeModSeq },
    mailbox
  )
  return { target: { store, folder, mailboxName }, isRenumbered, isFinished: folder.isFinished }
}

/**
 * @param {bigint | null} modSeq
 * @returns {number | null} null where it is no number that can be kept
 */
function toNumber(modSeq) {
  return modSeq === null || modSeq >= MAX_MODSEQ ? null : Number(modSeq)
}

/**
 * @param {AccountStore} store
 * @param {number} folderId
 * @param {readonly number[]} uids - at the source, ascending
 * @returns {Promise<{ known: KnownMessage[], fresh: number[], gone: KnownMessage[] }>}
 */
async function compare(store, folderId, uids) {
  const there = new Set(uids)
  const known = []
  const gone = []
  for await (const page of store.movingIn.readKnown(folderId)) {
    for (const message of page) {
      if (there.delete(message.uid)) known.push(message)
      else gone.push(message)
    }
  }
  return { known, fresh: [...there], gone }
}

/**
 * @param {FolderCopy} copy
 * @param {{ target: Target, known: KnownMessage[], opened: OpenedSource, isFinished: boolean }} state
 * @returns {Promise<number>} messages whose flags have changed
 */
async function bringFlags({ pool, planned }, { target, known, opened, isFinished }) {
  if (known.length === 0) return 0
  const read = (/** @type {string} */ range, /** @type {number | null} */ changedSince) =>
    pool.run(planned.path, async (connection) => {
      await openSame(connection, planned.path, opened)
      return await connection.readFlags(range, { changedSince })
    })
  const { sourceModSeq } = target.folder
  // A server that has lost its index may count from the beginning again, below what it told.
  const mayAskForChanges = opened.modSeq !== null && opened.modSeq >= BigInt(sourceModSeq)
  if (isFinished && sourceModSeq > 0 && mayAskForChanges) {
    // RFC 7162 §3.1.4.1
    if (opened.modSeq === BigInt(sourceModSeq)) return 0
    return await applyFlagChanges(target, known, await read('1:*', sourceModSeq))
  }
  let count = 0
  for (const page of slices(known, DESCRIBED_AT_ONCE)) {
    const flagsNow = await read(toUidSet(page.map(({ uid }) => uid)), null)
    count += await applyFlagChanges(target, page, flagsNow)
  }
  return count
}

/**
 * @param {FolderCopy} copy
 * @param {{ target: Target, gone: KnownMessage[], knownCount: number, report: FolderReport }} state
 */
async function bringExpunges({ expunge }, { target, gone, knownCount, report }) {
  if (gone.length === 0) return
  const isMost = gone.length > MAX_SAFE_EXPUNGES && gone.length * 2 > knownCount
  if (expunge === 'never' || (expunge === 'safe' && isMost)) report.kept = gone.length
  else report.expunged = await expungeGone(target, gone)
}

/**
 * @param {FolderCopy} copy
 * @param {object} state
 * @param {Target & { taken: Set<number> | null }} state.target
 * @param {OpenedSource} state.opened
 * @param {readonly number[]} state.fresh - UIDs, ascending
 * @param {FolderReport} state.report
 * @param {() => void} state.tell
 */
async function copyFresh(copy, { target, opened, fresh, report, tell }) {
  const { store, pool, planned, onFailure } = copy
  /** @type {number[]} */
  const undescribed = []
  const fetchAll = (/** @type {readonly SourceMessage[]} */ messages) =>
    pool.run(planned.path, async (connection) => {
      await openSame(connection, planned.path, opened)
      return { messages, batch: await fetchBatch({ store, connection, messages }) }
    })
  const all = batches(copy, { opened, fresh, undescribed })
  for await (const { messages, batch } of mapAhead(all, fetchAll, { ahead: () => pool.size })) {
    const { copied, skipped, failures } = await storeBatch(target, messages, batch)
    report.copied += copied
    report.skipped += skipped
    report.failed += failures.length
    failures.forEach(onFailure)
    tell()
  }
  for (const uid of await stillThere(copy, opened, undescribed)) {
    report.failed++
    onFailure({ uid, error: new Error(NOT_GIVEN) })
  }
}

/**
 * @param {FolderCopy} copy
 * @param {OpenedSource} opened
 * @param {readonly number[]} uids
 * @returns {Promise<number[]>} those that nobody has deleted meanwhile
 */
async function stillThere({ pool, planned }, { uidValidity }, uids) {
  if (uids.length === 0) return []
  const now = await pool.run(planned.path, async (connection) => {
    // Opened anew: an older view may still have messages that are gone.
    const opened = await connection.open(planned.path, { isFresh: true })
    return opened.uidValidity === uidValidity ? await connection.listUids() : []
  })
  const there = new Set(now)
  return uids.filter((uid) => there.has(uid))
}

/**
 * One message that the server cannot read spoils the answer for all: they are asked for in halves, down to this message.
 *
 * @param {SourceConnection} connection - with the folder open
 * @param {readonly number[]} uids - ascending
 * @returns {Promise<SourceMessage[]>} those that the server describes
 * @throws what the source answers where it describes none of several
 */
async function describeAll(connection, uids) {
  try {
    return await connection.describe(toUidSet(uids))
  } catch (error) {
    const { responseStatus } = /** @type {import('imapflow').ImapFlowError} */ (error)
    if (responseStatus !== 'NO') throw error
    if (uids.length === 1) return []
    const half = Math.ceil(uids.length / 2)
    /** @type {SourceMessage[]} */
    const found = []
    for (const part of slices(uids, half)) {
      await describeAll(connection, part).then(
        (messages) => found.push(...messages),
        (failure) => {
          if (failure.responseStatus !== 'NO') throw failure
        }
      )
    }
    if (found.length === 0) throw error
    return found
  }
}

/**
 * @param {FolderCopy} copy
 * @param {object} state
 * @param {OpenedSource} state.opened
 * @param {readonly number[]} state.fresh - UIDs, ascending
 * @param {number[]} state.undescribed - grows by those of which the source says nothing
 * @returns {AsyncGenerator<SourceMessage[]>}
 */
async function* batches({ pool, planned, signal }, { opened, fresh, undescribed }) {
  for (const uids of slices(fresh, DESCRIBED_AT_ONCE)) {
    const messages = await pool.run(planned.path, async (connection) => {
      await openSame(connection, planned.path, opened)
      return await describeAll(connection, uids)
    })
    const described = new Set(messages.map(({ uid }) => uid))
    undescribed.push(...uids.filter((uid) => !described.has(uid)))
    let batch = []
    let bytes = 0
    for (const message of messages) {
      const isLarge = message.sizeBytes > LARGE_BYTES
      const isFull = batch.length === BATCH_MESSAGES || bytes + message.sizeBytes > BATCH_BYTES
      if (batch.length > 0 && (isLarge || isFull)) {
        if (signal?.aborted) return
        yield batch
        batch = []
        bytes = 0
      }
      batch.push(message)
      bytes += isLarge ? BATCH_BYTES : message.sizeBytes
    }
    if (signal?.aborted) return
    if (batch.length > 0) yield batch
  }
}
