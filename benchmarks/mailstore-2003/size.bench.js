/**
 * How many bytes on the disk does mail take, and how many of them are not the mail itself?
 */
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { readPending } from '../../src/store/search/pending-rows.js'
import { readQueue } from '../../src/store/shared-parts/part-rows.js'
import { corpusIsMissing, everydayMessages } from '../../test/helpers/corpus.js'
import { requireEqual } from '../lib/question.js'
import { BATCH, KEY, fileOf, openMailStore, storeContenders } from './contenders.js'
import { fillStore } from './fill.js'

/** @typedef {import('../lib/question.js').Contender} Contender */

/** Tables with the messages' bytes; everything else is metadata. */
const MAIL_TABLES = ['content_chunks', 'data']

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'size',
  title: 'Bytes on the disk',
  notes:
    'The file after a checkpoint and close. Letterlock’s search index, which the other has none of, is in it; checked: no message is left to index. Metadata: every page that is not of the table with the messages’ bytes (SQLite’s dbstat). Everyday corpus: real mail beside the project, where it is there (quick: every twentieth message). No randomness: one round.',
  warmUp: 'none',
  lines: [
    {
      id: 'total',
      label: 'the file',
      unit: 'bytes',
      better: 'lower',
      reference: '732 MB for 541 MB of mail'
    },
    { id: 'metadata', label: 'metadata', unit: 'bytes', better: 'lower', reference: '3.4 MB' },
    {
      id: 'share',
      label: 'file, as a share of the raw mail',
      unit: 'ratio',
      better: 'lower',
      reference: '1.35'
    },
    {
      id: 'everyday',
      label: 'file, as a share of raw mail: everyday corpus',
      unit: 'ratio',
      better: 'lower'
    }
  ],
  contenders: storeContenders,
  rounds: () => 1,
  async measure({ contender, folder, options, progress }) {
    const { seed, messages, isQuick } = options
    const generated = join(folder, 'generated')
    mkdirSync(generated)
    const store = await openMailStore(generated, contender, { isNew: true })
    const { rawBytes } = await fillStore(store, { seed, first: 0, count: messages }, progress)
    await store.index()
    await store.close()
    const { total, metadata } = sizesOf(generated, contender)
    /** @type {Record<string, number[]>} */
    const samples = { total: [total], metadata: [metadata], share: [total / rawBytes] }
    /** @type {Record<string, string | number>} */
    const facts = { 'raw mail, MB': Number((rawBytes / 1e6).toFixed(1)) }
    if (corpusIsMissing) facts['everyday corpus'] = corpusIsMissing
    else
      samples['everyday'] = [
        await everydayShare(join(folder, 'everyday'), contender, isQuick ? 20 : 1)
      ]
    return { samples, facts }
  }
}

/**
 * @param {string} folder
 * @param {Contender} contender
 * @param {number} every
 * @returns {Promise<number>}
 */
async function everydayShare(folder, contender, every) {
  mkdirSync(folder)
  const store = await openMailStore(folder, contender, { isNew: true })
  let rawBytes = 0
  /** @type {import('../lib/mail.js').Mail[]} */
  let batch = []
  for (const { bytes } of everydayMessages({ every })) {
    rawBytes += bytes.length
    batch.push({ bytes, flags: [], epochSeconds: 0 })
    if (batch.length < BATCH) continue
    await store.add(batch)
    batch = []
  }
  await store.add(batch)
  await store.index()
  await store.close()
  return sizesOf(folder, contender).total / rawBytes
}

/**
 * Checkpoints, and measures.
 *
 * @param {string} folder
 * @param {Contender} contender
 * @returns {{ total: number, metadata: number }} bytes
 */
function sizesOf(folder, contender) {
  const path = fileOf(folder, contender)
  const db = openFile(path, contender)
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
    const places = MAIL_TABLES.map(() => '?').join(', ')
    const metadata = db
      .prepare(`SELECT sum(pgsize) FROM dbstat WHERE aggregate = 1 AND name NOT IN (${places})`)
      .pluck()
      .get(...MAIL_TABLES)
    return { total: statSync(path).size, metadata: Number(metadata) }
  } finally {
    db.close()
  }
}

/**
 * @param {string} path
 * @param {Contender} contender
 */
function openFile(path, { id }) {
  if (id === 'plain') return new Database(path)
  const cipher = id === 'letterlock' ? 'chacha20' : 'aegis-256'
  const { db } = openEncryptedDatabase({ path, key: KEY, cipher, isBlocking: true })
  requireEqual(readPending(db, 0, 1).length, 0, 'messages left to index')
  requireEqual(readQueue(db, 1).length, 0, 'attachments left to look for')
  return db
}
