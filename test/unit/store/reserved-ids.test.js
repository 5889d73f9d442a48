import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { forgetReservedIds, takeContentId } from '../../../src/store/reserved-ids.js'
import { accountFolder, appendOne, makeMessage, stage } from '../../helpers/account-folder.js'

test('ids that are taken ahead never meet those of others, and none is taken where none was given', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const open = () => {
    const { folder, key } = account
    const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
    t.after(() => db.close())
    return db
  }
  const [one, two] = [open(), open()]
  // SQLite makes its counter with the first row.
  assert.equal(takeContentId(one), null)
  await appendOne(store, 'INBOX', makeMessage('first'))
  const ids = new Set([1])
  for (let i = 0; i < 200; i++) {
    const db = i % 3 === 0 ? one : two
    const id = takeContentId(db)
    assert.ok(id !== null && !ids.has(id), `${id} again`)
    ids.add(id)
    if (i % 50 !== 49) continue
    // Undone, together with what it has taken.
    db.exec('BEGIN IMMEDIATE')
    for (let k = 0; k < 100; k++) takeContentId(db)
    db.exec('ROLLBACK')
    forgetReservedIds(db)
  }
})

test('a refused append gives its ids back, and the next content gets one of its own', async (t) => {
  const account = await accountFolder(t)
  const config = { quotaMessages: 150 }
  const [one, two] = [await account.create({ config }), await account.open({ config })]
  let accepted = 0
  for (let i = 0; i < 200; i++) {
    const store = i % 2 === 0 ? one : two
    const contents = []
    for (let k = 0; k < 3; k++) contents.push(await stage(store, makeMessage(`${i} ${k}`)))
    const mailboxes = i % 5 === 0 ? ['INBOX', 'nowhere', 'INBOX'] : ['INBOX', 'INBOX', 'nowhere']
    const outcomes = await Promise.allSettled(
      contents.map((content, k) =>
        store.appendMessages(mailboxes[k] ?? '', [{ content, flags: [], internalDate: null }])
      )
    )
    accepted += outcomes.filter(({ status }) => status === 'fulfilled').length
    if (accepted >= 150) break
  }
  assert.equal(accepted, 150)
  const report = await two.verify()
  assert.deepEqual([report.problems, report.messages, report.contents], [[], 150, 150])
})
