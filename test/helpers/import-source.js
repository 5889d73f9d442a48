/**
 * Folders with mail in them, all that an import reads of one, and what it stores.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Importer } from '../../src/import/importer.js'
import { openSource } from '../../src/import/open-source.js'
import { systemClock } from '../../src/support/clock.js'
import { collectBytes } from './collect.js'

/** @typedef {import('../../src/import/import-item.js').ImportItem} ImportItem */
/** @typedef {Omit<ImportItem, 'open'> & { text: string }} ReadItem */
/** @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../src/import/importer.js').ImporterOptions} ImporterOptions */
/** @typedef {import('../../src/import/importer.js').ImportFailure} ImportFailure */

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string | Buffer>} [files]
 * @returns {Promise<string>} a folder with these files
 */
export async function folderOf(t, files = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'letterlock-import-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  return folder
}

/**
 * @param {string} path
 * @param {Parameters<typeof openSource>[1]} [options]
 * @returns {Promise<ReadItem[]>}
 */
export async function readAll(path, options) {
  const source = await openSource(path, options)
  /** @type {ReadItem[]} */
  const items = []
  for await (const { open, ...item } of source.items()) {
    const text = (await collectBytes(open())).toString('latin1')
    items.push({ ...item, text })
  }
  assert.equal(source.position, source.total, 'the progress ends at the total')
  return items
}

export const MAIL = 'Subject: one\n\nbody\n'
export const MBOX = `From a@b Wed Jul  1 05:04:01 2020\nStatus: RO\nX-Status: AF\n${MAIL}\nFrom c@d Thu Jul  2 05:04:01 2020\nSubject: two\n\n>From x\n\n`

/**
 * @param {ImportItem} item
 * @returns {Promise<Buffer>} and the rest is left unread
 */
export async function firstChunk(item) {
  const chunks = item.open()[Symbol.asyncIterator]()
  const { value } = await chunks.next()
  await chunks.return?.()
  return value
}

/**
 * @param {AccountStore} store
 * @param {string} path
 * @param {Partial<ImporterOptions>} [options]
 * @returns {Promise<{ imported: number, skipped: number, failed: number, failures: ImportFailure[] }>}
 */
export async function importFrom(store, path, options) {
  /** @type {ImportFailure[]} */
  const failures = []
  const importer = new Importer({
    store,
    mailbox: 'INBOX',
    clock: systemClock,
    onFailure: (failure) => failures.push(failure),
    ...options
  })
  await importer.run(await openSource(path))
  return { ...importer.summary, failures }
}

/**
 * @param {AccountStore} store
 * @param {string} [mailbox]
 * @returns {Promise<{ hash: string, flags: number, keywords: number, internalDate: import('../../src/import/import-item.js').ZonedDate }[]>}
 *   in the order of UIDs
 */
export async function stored(store, mailbox = 'INBOX') {
  const { mailbox: row, view } = await store.openView(mailbox)
  const found = []
  for (let slot = 0; slot < view.length; slot += 500) {
    const uids = [...view.uids.subarray(slot, Math.min(slot + 500, view.length))]
    for (const record of await store.readMessages(row.id, uids, { row: true })) {
      const bytes = await collectBytes(store.readContent(record.contentId, 0, record.size))
      const { flags, keywords, internalDate } = record
      found.push({ hash: sha256(bytes), flags, keywords, internalDate })
    }
  }
  store.closeView(view)
  return found
}

/**
 * @param {Buffer} bytes
 * @returns {string}
 */
export function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}
