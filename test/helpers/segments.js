/**
 * Segments of the search index made of texts by themselves, without messages, and what the index says of a term.
 */
import assert from 'node:assert/strict'
import { SegmentBatch } from '../../src/store/search/segment-batch.js'
import {
  completeSegment,
  insertBlocks,
  insertSegment
} from '../../src/store/search/segment-rows.js'
import { TextIndex } from '../../src/store/search/text-answers.js'
import { TokenCollector } from '../../src/store/search/token-collector.js'

/** @typedef {import('../../src/store/account-store.js').AccountStore} AccountStore */

/**
 * @param {AccountStore} store
 * @param {Map<number, { body: string, header: string }>} texts - by content id, ascending
 */
export async function addSegment(store, texts) {
  const batch = new SegmentBatch()
  for (const [id, { body, header }] of texts)
    batch.add(id, { body: tokensOf(batch, body), header: tokensOf(batch, header), ids: new Set() })
  await writeSegment(store, batch, [...texts.keys()])
}

/**
 * @param {AccountStore} store
 * @param {SegmentBatch} batch
 * @param {number[]} contentIds - that are in it
 */
export async function writeSegment(store, batch, contentIds) {
  const segment = await batch.toSegment(async () => {})
  assert.ok(segment)
  await store.searchAccess.database.write((db) => {
    const id = insertSegment(db, segment)
    insertBlocks(db, id, segment.blocks)
    completeSegment(db, id, segment)
    const insert = db.prepare(
      'INSERT OR IGNORE INTO contents (id, hash, size, chunk_size) VALUES (?, randomblob(32), 0, 1)'
    )
    for (const contentId of contentIds) insert.run(contentId)
  })
}

/**
 * @param {SegmentBatch} batch
 * @param {string} text
 */
export function tokensOf(batch, text) {
  const tokens = new TokenCollector(batch.tokens)
  tokens.add(text, false)
  tokens.end()
  return tokens
}

/**
 * @param {AccountStore} store
 * @param {string} term
 * @param {'body' | 'text' | 'header'} side
 */
export async function ask(store, term, side) {
  const options = { maxBlocks: Infinity, breathe: async () => {} }
  const { index } = await TextIndex.open(store.searchAccess.database, options)
  return await index.ask(term, side)
}
