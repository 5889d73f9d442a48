/**
 * What damage to an attachment that several messages share does, and what a repair makes of it.
 */
import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileOptions } from '../../../../src/store/port/options.js'
import { repairMailFile } from '../../../../src/store/salvage/repair-file.js'
import { systemClock } from '../../../../src/support/clock.js'
import { accountFolder, appendOne, rawHandle, readBytes } from '../../../helpers/account-folder.js'
import { mailWith, noise } from '../../../helpers/attachments.js'
import { damagePage, pagesOf } from '../../../helpers/damage-page.js'

const SHARED = noise('shared', 200_000)
const MAILS = [
  mailWith('one', [SHARED]),
  mailWith('two', [noise('two', 70_000), SHARED]),
  mailWith('three', [noise('three', 100_000)])
]

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  for (const mail of MAILS) await appendOne(store, 'INBOX', mail)
  await store.indexSearch()
  await store.checkpoint()
  await store.close()
  const path = join(account.folder, 'mail.db')
  const options = fileOptions({ folder: account.folder, key: account.key, clock: systemClock })
  return { ...account, path, repair: () => repairMailFile(options, { timeoutMs: 0 }) }
}

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

/**
 * @param {AccountStore} store
 * @param {readonly number[]} uids - messages that can be read
 */
async function requireMessages(store, uids) {
  const { view } = await store.openView('INBOX')
  for (const [index, mail] of MAILS.entries()) {
    const uid = index + 1
    if (uids.includes(uid)) assert.ok((await readBytes(store, view, uid)).equals(mail), `${uid}`)
    else if (view.slotOf(uid) >= 0)
      await assert.rejects(readBytes(store, view, uid), { code: 'ACCOUNT_DAMAGED' })
  }
  store.closeView(view)
}

const FIRST_CHUNK = 'id = (SELECT id << 16 FROM shared_parts)'

for (const [what, sql] of [
  ['a chunk of it is missing', `DELETE FROM content_chunks WHERE ${FIRST_CHUNK}`],
  [
    'a chunk of it has other bytes',
    `UPDATE content_chunks SET data = substr(data, 2) WHERE ${FIRST_CHUNK}`
  ]
]) {
  test(`where ${what}, its messages are said to be damaged, and the others are not`, async (t) => {
    const account = await setUp(t)
    const db = rawHandle(account)
    assert.equal(
      db
        .exec(/** @type {string} */ (sql))
        .prepare('SELECT changes()')
        .pluck()
        .get(),
      1
    )
    db.close()
    const store = await account.open()
    await requireMessages(store, [3])
    const { problems, unreadable } = await store.verify()
    assert.deepEqual(unreadable.map(({ uid }) => uid).sort(), [1, 2])
    assert.equal(problems.length, 2)
    await store.close()

    const { report } = await account.repair()
    assert.deepEqual(
      report.lost.map(({ uid }) => uid),
      [1, 2]
    )
    const again = await account.open()
    await requireMessages(again, [3])
    await again.indexSearch()
    assert.deepEqual((await again.verify()).problems, [])
  })
}

test('where the way to the chunks is lost, a repair finds the shared ones too', async (t) => {
  const account = await setUp(t)
  const { path, key } = account
  const [page] = pagesOf(path, key, 'content_chunks', 'internal')
  damagePage(path, /** @type {number} */ (page))
  assert.deepEqual((await account.repair()).report.lost, [])
  const store = await account.open()
  await requireMessages(store, [1, 2, 3])
  assert.deepEqual((await store.verify()).problems, [])
  // They are shared again by the next index.
  await store.indexSearch()
  const db = rawHandle(account)
  assert.equal(db.prepare('SELECT count(*) FROM shared_part_uses').pluck().get(), 2)
  db.close()
  await requireMessages(store, [1, 2, 3])
})

test('one page that is damaged takes no more than the messages that need it', async (t) => {
  const account = await setUp(t)
  const { path, key, folder } = account
  const sound = join(folder, 'sound')
  copyFileSync(path, sound)
  const pages = ['leaf', 'overflow'].flatMap((type) =>
    pagesOf(path, key, 'content_chunks', /** @type {'leaf'} */ (type))
  )
  let lost = 0
  for (let index = 0; index < pages.length; index += 9) {
    copyFileSync(sound, path)
    damagePage(path, /** @type {number} */ (pages[index]))
    const { report } = await account.repair()
    lost += report.lost.length
    assert.ok(report.lost.length <= 2)
    const store = await account.open()
    const gone = report.lost.map(({ uid }) => uid)
    await requireMessages(
      store,
      [1, 2, 3].filter((uid) => !gone.includes(uid))
    )
    await store.close()
  }
  assert.ok(lost > 0)
})
