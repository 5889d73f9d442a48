/**
 * Folders with mail in them, and all that an import reads of one.
 */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openSource } from '../../src/import/open-source.js'
import { collectBytes } from './collect.js'

/** @typedef {import('../../src/import/import-item.js').ImportItem} ImportItem */
/** @typedef {Omit<ImportItem, 'open'> & { text: string }} ReadItem */

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string | Buffer>} files
 * @returns {Promise<string>} a folder with these files
 */
export async function folderOf(t, files) {
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
