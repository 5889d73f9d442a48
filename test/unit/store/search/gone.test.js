/**
 * Messages that another session expunges, and that are swept, while a search or a list of messages reads them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MailError } from '../../../../src/errors.js'
import { readMessageRecords } from '../../../../src/store/read-messages.js'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { readTextOf } from '../../../../src/store/search/index-job.js'
import { BatchTokens } from '../../../../src/store/search/token-collector.js'
import { systemClock } from '../../../../src/support/clock.js'
import {
  accountFolder,
  appendOne,
  makeMessage,
  stage,
  sweepAll
} from '../../../helpers/account-folder.js'
import { selectIn } from '../../../helpers/selected.js'

/**
 * @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore
 * @typedef {import('../../../../src/store/mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('../../../../src/store/read-messages.js').Source} Source
 */

/**
 * @param {AccountStore} store
 * @param {MailboxView} view
 * @param {number} uid
 */
async function remove(store, view, uid) {
  await store.changeFlags({ view, uids: [uid], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: [uid] })
  await sweepAll(store)
}

/**
 * @param {AccountStore} store
 * @param {(result: unknown) => Promise<void>} afterRead - is told what was read
 * @returns {Source} its file
 */
function watched({ searchAccess: { database } }, afterRead) {
  return {
    readSettled: async (work) => {
      const result = await database.readSettled(work)
      await afterRead(result)
      return result
    }
  }
}

for (const key of [
  { op: /** @type {const} */ ('body'), value: 'needle' },
  { op: /** @type {const} */ ('header'), field: 'X-Filler', value: 'needle' }
])
  test(`a search by ${key.op} goes on without a message that is swept before its content is read`, async (t) => {
    const store = await (await accountFolder(t)).create()
    // Larger than a chunk: the rest is read on its own. In one transaction, so that what is computed of them is there, too.
    const messages = []
    for (let n = 0; n < 5; n++) {
      const filler = key.op === 'header' ? ' filler\r\n'.repeat(40_000) : ''
      const bytes = makeMessage(`needle ${n}`, 400_000 + n)
      const content = await stage(
        store,
        Buffer.concat([Buffer.from(`X-Filler: needle ${n}\r\n${filler}`), bytes])
      )
      messages.push({ content, flags: [], internalDate: null })
    }
    await store.appendMessages('INBOX', messages)
    const { view, selected } = await selectIn(store)
    let isRemoved = false
    const database = watched(store, async (result) => {
      const [row] = Array.isArray(result) ? result : []
      if (isRemoved || !row?.contentId) return
      isRemoved = true
      await remove(store, view, 2)
    })
    const slots = await searchMessages({
      store: /** @type {any} */ ({ searchAccess: { ...store.searchAccess, database } }),
      view,
      selected,
      key,
      clock: systemClock
    })
    assert.equal(isRemoved, true)
    assert.deepEqual(slots, [0, 2, 3, 4])
  })

test('what is made anew of a message that is swept meanwhile is not written', async (t) => {
  const store = await (await accountFolder(t)).create()
  for (let n = 0; n < 3; n++) await appendOne(store, 'INBOX', makeMessage(`needle ${n}`))
  const { view } = await store.openView('INBOX')
  await store.searchAccess.database.write((db) => db.exec('DELETE FROM message_envelopes'))
  let reads = 0
  const database = watched(store, async () => {
    // The first reads the rows, the next one the content of the first message.
    if (++reads === 2) await remove(store, view, 1)
  })
  const records = await readMessageRecords(database, view.mailboxId, [1, 2, 3], { envelope: true })
  assert.deepEqual(records.map(({ uid }) => uid).slice(-2), [2, 3])
  assert.deepEqual((await store.verify()).problems, [])
})

test('a message that has gone is not told as one without a text, where the index is asked alone', async (t) => {
  const store = await (await accountFolder(t)).create()
  for (let n = 0; n < 5; n++) await appendOne(store, 'INBOX', makeMessage(`needle ${n}`))
  await store.indexSearch()
  const { view, selected } = await selectIn(store)
  await remove(store, view, 2)
  const key = { op: /** @type {const} */ ('body'), value: 'nowhere' }
  const request = { store, view, selected, clock: systemClock }
  assert.deepEqual(await searchMessages({ ...request, key: { op: 'not', key } }), [0, 2, 3, 4])
})

for (const [code, outcome] of /** @type {const} */ ([
  ['MESSAGE_GONE', undefined],
  ['ACCOUNT_DAMAGED', null],
  ['BUSY', 'thrown'],
  ['SHUTTING_DOWN', 'thrown']
]))
  test(`a message that is not read for ${code} is left out of the index only where it cannot be read at all`, async () => {
    const database = { readSettled: () => Promise.reject(new MailError(code)) }
    const reading = readTextOf(database, 1, new BatchTokens())
    if (outcome === 'thrown') await assert.rejects(reading, { code })
    else assert.equal(await reading, outcome)
  })
