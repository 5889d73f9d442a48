/**
 * An account's folder that a test may open, close and open again, also several times at once.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { createAccountStore, openAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'

/**
 * @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore
 * @typedef {import('../../src/store/account-store.js').StoreOptions} StoreOptions
 * @typedef {import('../../src/store/mailbox-view.js').MailboxView} MailboxView
 */

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<string>} an empty folder, gone after the test
 */
export async function scratchFolder(t) {
  const folder = await mkdtemp(join(tmpdir(), 'letterlock-test-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }))
  return folder
}

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ folder: string, key: Buffer, create: (options?: Partial<StoreOptions>) => Promise<AccountStore>, open: (options?: Partial<StoreOptions>) => Promise<AccountStore> }>}
 *   stores are closed after the test
 */
export async function accountFolder(t) {
  const parent = await mkdtemp(join(tmpdir(), 'letterlock-test-'))
  const folder = join(parent, 'account')
  const key = randomBytes(32)
  /** @type {AccountStore[]} */
  const stores = []
  t.after(async () => {
    for (const store of stores) await store.close()
    await rm(parent, { recursive: true, force: true })
  })
  /** @param {(options: StoreOptions) => Promise<AccountStore>} make */
  const opener =
    (make) =>
    async (/** @type {Partial<StoreOptions>} */ options = {}) => {
      const store = await make({ folder, key, clock: systemClock, ...options })
      stores.push(store)
      return store
    }
  return { folder, key, create: opener(createAccountStore), open: opener(openAccountStore) }
}

/**
 * A connection of its own to an account's file, beside the store's.
 *
 * @param {{ folder: string, key: Buffer }} account
 */
export function rawHandle({ folder, key }) {
  const { db } = openEncryptedDatabase({ path: join(folder, 'mail.db'), key, cipher: 'chacha20' })
  // Background work of the store may hold the lock for a moment.
  db.pragma('busy_timeout = 60000')
  return db
}

/**
 * @param {string} [text] - of the body
 * @param {number} [sizeBytes] - the body is filled up to make a message of this size
 * @returns {Buffer}
 */
export function makeMessage(text = 'Hello', sizeBytes = 0) {
  const head = `From: a@example.org\r\nSubject: ${text.slice(0, 40)}\r\nMessage-ID: <${text.length}@example.org>\r\n\r\n`
  const body = `${text}\r\n`
  const missing = Math.max(0, sizeBytes - head.length - body.length)
  return Buffer.concat([Buffer.from(head + body), fill(missing)])
}

/**
 * @param {number} sizeBytes
 * @returns {Buffer} lines that compress somewhat, with another text at every place
 */
function fill(sizeBytes) {
  const bytes = Buffer.alloc(sizeBytes)
  for (let at = 0; at < sizeBytes; at += 32)
    bytes.write(`line ${at} ${(at * 7919) % 104729}\r\n`, at, 'latin1')
  return bytes
}

/**
 * @param {AccountStore} store
 * @param {Buffer} bytes
 * @param {number} [pieceBytes] - written in pieces of this size
 * @returns {Promise<import('../../src/store/staged-content.js').StagedContent>}
 */
export async function stage(store, bytes, pieceBytes = 65_536) {
  const writer = await store.stageContent({ sizeHint: bytes.length })
  for (let at = 0; at < bytes.length; at += pieceBytes)
    await writer.write(bytes.subarray(at, at + pieceBytes))
  return await writer.finish()
}

/**
 * @param {AccountStore} store
 * @param {string} mailbox
 * @param {Buffer} bytes
 * @param {string[]} [flags]
 * @returns {Promise<number>} its UID
 */
export async function appendOne(store, mailbox, bytes, flags = []) {
  const content = await stage(store, bytes)
  const { uids } = await store.appendMessages(mailbox, [{ content, flags, internalDate: null }])
  return uids[0] ?? 0
}

/**
 * Appends small messages, all with the same body, in one transaction.
 *
 * @param {AccountStore} store
 * @param {string} mailbox
 * @param {number} count
 * @param {string[]} [flags]
 * @returns {Promise<number[]>} their UIDs
 */
export async function appendMany(store, mailbox, count, flags = []) {
  const messages = []
  const content = await stage(store, makeMessage('the same'))
  for (let i = 0; i < count; i++) messages.push({ content, flags, internalDate: null })
  return (await store.appendMessages(mailbox, messages)).uids
}

/**
 * @param {AsyncIterable<Buffer>} pieces
 * @returns {Promise<Buffer>}
 */
export async function collect(pieces) {
  const all = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

/**
 * @param {AccountStore} store
 * @param {MailboxView | { mailboxId: number }} view
 * @param {number} uid
 * @param {number} [start]
 * @param {number} [end]
 * @returns {Promise<Buffer>} the message's bytes
 */
export async function readBytes(store, { mailboxId }, uid, start, end) {
  const [record] = await store.readMessages(mailboxId, [uid], { row: true })
  if (!record) throw new Error(`no message ${uid}`)
  return await collect(store.readContent(record.contentId, start, end))
}

/**
 * @param {MailboxView} view
 * @returns {number[]} UIDs of the messages that are there
 */
export function aliveUids(view) {
  return [...view.uids.subarray(0, view.length)].filter((_, slot) => !view.isExpunged(slot))
}

/**
 * Sweeps all deleted content away, without waiting for readers.
 *
 * @param {AccountStore} store
 */
export async function sweepAll(store) {
  // A first sweep lists the content of deleted mailboxes.
  await store.upkeep.sweep()
  await store.upkeep.forgetReaders()
  await store.upkeep.sweep()
}
