/** FTS5 answers in one go: what would take it too long on the event loop is seen from the first few rows, and left to a thread. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { askIndex } from '../../../../src/store/search/index-answers.js'
import { planSearch } from '../../../../src/store/search/plan.js'
import { systemClock as clock } from '../../../../src/support/clock.js'
import { selectIn } from '../../../helpers/selected.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

/** More than are looked at without the index. */
const MESSAGES = 1300

/** @param {string} value */
const copied = (value) => ({ op: /** @type {const} */ ('header'), field: 'cc', value })

test('of a field that many have the index says so at once where there is little time, and all where there is much', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: MESSAGES }, (_, index) => ({
    bytes: Buffer.from(
      `Message-ID: <${index}@mail.example>\r\nCc: ${index % 50 === 7 ? 'rare@' : 'any@'}copied.example\r\n\r\nbody\r\n`
    )
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const ask = async (/** @type {string} */ value, /** @type {object} */ limits) => {
    const asked = await askIndex(store.searchAccess.database, {
      plan: planSearch(copied(value)),
      maxRows: 1_000_000,
      maxBlocks: Infinity,
      maxIds: Infinity,
      breathe: async () => {},
      ...limits
    })
    return asked?.isCut === true ? 'cut' : asked?.answers.possible?.length
  }
  assert.equal(await ask('copied.example', { maxMs: 0 }), 'cut')
  assert.equal(await ask('copied.example', { maxMs: 60_000 }), MESSAGES)
  assert.equal(await ask('copied.example', {}), MESSAGES)
  assert.equal(await ask('copied.example', { maxMs: 60_000, maxRows: MESSAGES - 1 }), 'cut')
  assert.equal(await ask('rare@copied', { maxMs: 0 }), MESSAGES / 50)

  const request = { store, clock, ...(await selectIn(store)) }
  for (const [value, count] of /** @type {const} */ ([
    ['copied.example', MESSAGES],
    ['rare@copied', MESSAGES / 50]
  ]))
    assert.equal((await searchMessages({ ...request, key: copied(value) })).length, count)
})
