import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  findStrangerPage,
  highestKnownUid,
  readKnownPage
} from '../../../../src/store/moving-in/import-folder-rows.js'
import { imapImportKey, uidOfImportKey } from '../../../../src/store/moving-in/import-key.js'
import {
  accountFolder,
  aliveUids,
  appendOne,
  makeMessage,
  stage
} from '../../../helpers/account-folder.js'

const SOURCE = { source: 'ann@example.net', path: 'INBOX', uidValidity: 777, modSeq: 1000 }

/**
 * @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore
 *
 * @param {AccountStore} store
 * @param {number} folderId
 * @param {number[]} uids - at the source
 * @param {string} [mailboxName]
 * @returns {Promise<number[]>} UIDs here
 */
async function bring(store, folderId, uids, mailboxName = 'INBOX') {
  const messages = []
  for (const uid of uids) {
    messages.push({
      content: await stage(store, makeMessage(`source ${uid}`)),
      flags: [],
      internalDate: null,
      importKey: imapImportKey(folderId, uid),
      sourceFlags: '',
      uid
    })
  }
  return (await store.appendMessages(mailboxName, messages)).uids
}

/** @param {AccountStore} store */
async function inbox(store) {
  const { view, mailbox } = await store.openView('INBOX')
  const { uidValidity, uidNext, highestModSeq } = view
  store.closeView(view)
  assert.deepEqual([mailbox.uidValidity, mailbox.uidNext], [uidValidity, uidNext], 'view and row')
  return { uids: aliveUids(view), uidValidity, uidNext, highestModSeq, modSeqs: [...view.modSeqs] }
}

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const { create, open } = await accountFolder(t)
  const store = await create()
  const { folder } = await store.movingIn.openFolder(SOURCE, 'INBOX')
  const finish = (/** @type {number} */ sourceUidNext, from = store) =>
    from.movingIn.finishFolder({ folderId: folder.id, sourceUidNext, sourceModSeq: 1000 })
  return { store, open, folder, finish }
}

test('keys of one folder lie together and give their UID back', () => {
  const keys = [
    [1, 1],
    [1, 2],
    [1, 0xffffffff],
    [2, 0],
    [256, 5]
  ].map(([folder = 0, uid = 0]) => imapImportKey(folder, uid))
  assert.deepEqual([...keys].sort(Buffer.compare), keys)
  assert.deepEqual(keys.map(uidOfImportKey), [1, 2, 0xffffffff, 0, 5])
})

test('an empty mailbox keeps UIDs, and takes over UIDVALIDITY and UIDNEXT at the end of the first run', async (t) => {
  const { store, folder, finish } = await setup(t)
  const before = await inbox(store)
  assert.deepEqual(await bring(store, folder.id, [3, 7]), [3, 7])
  assert.deepEqual(await bring(store, folder.id, [8, 20]), [8, 20])
  assert.equal((await inbox(store)).uidValidity, before.uidValidity, 'not before the end')
  assert.deepEqual(await finish(31), { hasIdentity: true })
  const after = await inbox(store)
  assert.deepEqual(after.uids, [3, 7, 8, 20])
  assert.deepEqual([after.uidValidity, after.uidNext], [777, 31])
  const modSeqs = after.modSeqs.slice(0, 4)
  assert.ok(
    modSeqs.every((modSeq) => modSeq > 1000),
    'above those of the source'
  )
  assert.equal((await store.readExpunged(folder.mailboxId, 1000)).isComplete, false)
  assert.equal(await appendOne(store, 'INBOX', makeMessage('later')), 31)
})

test('a message that came in meanwhile keeps the mailbox from passing for the source’s', async (t) => {
  for (const uids of [
    [3, 7],
    [1, 2, 3]
  ]) {
    const { store, folder, finish } = await setup(t)
    const { uidValidity } = await inbox(store)
    await bring(store, folder.id, uids.slice(0, 1))
    await appendOne(store, 'INBOX', makeMessage('stranger'))
    await bring(store, folder.id, uids.slice(1))
    assert.deepEqual(await finish(31), { hasIdentity: false })
    assert.equal((await inbox(store)).uidValidity, uidValidity)
  }
})

test('a message that comes in when a run is about to end is seen by it', async (t) => {
  const { store, folder, finish } = await setup(t)
  await bring(store, folder.id, [3])
  const { database } = store.searchAccess
  const write = database.write.bind(database)
  const writes = t.mock.method(
    database,
    'write',
    async (/** @type {Parameters<typeof write>} */ ...args) => {
      writes.mock.restore()
      await appendOne(store, 'INBOX', makeMessage('stranger'))
      return await write(...args)
    }
  )
  assert.deepEqual(await finish(31), { hasIdentity: false })
  assert.notEqual((await inbox(store)).uidValidity, 777)
})

test('a later run goes on with the same UIDs, unless both places have given UIDs since', async (t) => {
  const { store, folder, finish } = await setup(t)
  await bring(store, folder.id, [1, 2])
  await finish(3)
  assert.deepEqual(await finish(3), { hasIdentity: true }, 'nothing new')
  assert.deepEqual(await bring(store, folder.id, [3, 4]), [3, 4])
  assert.deepEqual(await finish(6), { hasIdentity: true })
  assert.deepEqual((await inbox(store)).uidNext, 6)

  await appendOne(store, 'INBOX', makeMessage('delivered here'))
  assert.deepEqual(await finish(6), { hasIdentity: true }, 'nothing new there')
  assert.equal((await inbox(store)).uidValidity, 777)
  // UID 6 is one message there and another here, even if the one there is gone again.
  assert.deepEqual(await finish(7), { hasIdentity: false })
  const { uidValidity, uids } = await inbox(store)
  assert.notEqual(uidValidity, 777)
  assert.deepEqual(uids, [1, 2, 3, 4, 6])
})

test('both places have given UIDs also where the source’s later message is all that is left of them', async (t) => {
  const { store, folder, finish } = await setup(t)
  await bring(store, folder.id, [1, 2])
  await finish(3)
  await appendOne(store, 'INBOX', makeMessage('delivered here'))
  // UID 3 there is gone again.
  assert.deepEqual(await bring(store, folder.id, [4]), [4])
  assert.deepEqual(await finish(5), { hasIdentity: false })
  assert.notEqual((await inbox(store)).uidValidity, 777)
})

test('a UIDVALIDITY that a mailbox of the account has or had is not taken over', async (t) => {
  const { store, folder, finish } = await setup(t)
  await bring(store, folder.id, [1])
  assert.deepEqual(await finish(2), { hasIdentity: true })
  await store.createMailbox('Other')
  const { folder: other } = await store.movingIn.openFolder({ ...SOURCE, path: 'Other' }, 'Other')
  const finishOther = () =>
    store.movingIn.finishFolder({ folderId: other.id, sourceUidNext: 1, sourceModSeq: null })
  assert.deepEqual(await finishOther(), { hasIdentity: false }, 'INBOX has it')
  await store.renameMailbox('INBOX', 'Old')
  await store.deleteMailbox('Old')
  assert.deepEqual(await finishOther(), { hasIdentity: false })
  const made = await store.createMailbox('New')
  assert.ok(made.uidValidity > 777)
})

test('what is made after a UIDVALIDITY of days to come was taken over has a higher one', async (t) => {
  const { store } = await setup(t)
  const uidValidity = Math.floor(Date.now() / 1000) + 86_400
  await store.createMailbox('Work')
  const source = { ...SOURCE, path: 'Work', uidValidity }
  const { folder } = await store.movingIn.openFolder(source, 'Work')
  const run = { folderId: folder.id, sourceUidNext: 1, sourceModSeq: null }
  assert.deepEqual(await store.movingIn.finishFolder(run), { hasIdentity: true })
  await store.deleteMailbox('Work')
  assert.ok((await store.createMailbox('Work')).uidValidity > uidValidity)
})

test('a UIDVALIDITY under which nothing was ever kept can be had', async (t) => {
  const { store } = await setup(t)
  const { uidValidity } = await store.mailboxStatus('Drafts')
  const archive = { ...SOURCE, path: 'Archive', uidValidity }
  const { folder } = await store.movingIn.openFolder(archive, 'Archive')
  const run = { folderId: folder.id, sourceUidNext: 1, sourceModSeq: null }
  assert.deepEqual(await store.movingIn.finishFolder(run), { hasIdentity: true })
  assert.equal((await store.mailboxStatus('Archive')).uidValidity, uidValidity)
  assert.notEqual((await store.mailboxStatus('Drafts')).uidValidity, uidValidity)
})

for (const when of /** @type {const} */ (['during a run', 'between two runs'])) {
  test(`a folder whose mailbox was deleted here ${when} goes on in another one, and what was copied does not come back`, async (t) => {
    const { store } = await setup(t)
    const source = { ...SOURCE, path: 'Work', uidValidity: 778 }
    const open = async () => {
      await store.createMailbox('Work')
      return (await store.movingIn.openFolder(source, 'Work')).folder
    }
    const { id } = await open()
    const finish = (/** @type {number} */ sourceUidNext) =>
      store.movingIn.finishFolder({ folderId: id, sourceUidNext, sourceModSeq: null })
    assert.deepEqual(await bring(store, id, [1, 2], 'Work'), [1, 2])
    assert.deepEqual(await finish(3), { hasIdentity: true })
    await store.deleteMailbox('Work')
    if (when === 'during a run') assert.deepEqual(await finish(3), { hasIdentity: false })
    const again = await open()
    const { view } = await store.openView('Work')
    assert.deepEqual([again.id, again.mailboxId, again.keepsUids], [id, view.mailboxId, false])
    assert.deepEqual(await bring(store, id, [1, 2, 7], 'Work'), [0, 0, 7])
    assert.deepEqual(await finish(8), { hasIdentity: false })
    assert.notEqual((await store.mailboxStatus('Work')).uidValidity, 778)
  })
}

test('a UIDVALIDITY that is none, or above which there would be none left, is not taken over', async (t) => {
  const { store } = await setup(t)
  for (const uidValidity of [0, 2 ** 32 - 1]) {
    const mailboxName = `of ${uidValidity}`
    await store.createMailbox(mailboxName)
    const source = { ...SOURCE, path: mailboxName, uidValidity }
    const { folder } = await store.movingIn.openFolder(source, mailboxName)
    const { uidValidity: own } = await store.mailboxStatus(mailboxName)
    const run = { folderId: folder.id, sourceUidNext: 1, sourceModSeq: null }
    assert.deepEqual(await store.movingIn.finishFolder(run), { hasIdentity: false })
    assert.equal((await store.mailboxStatus(mailboxName)).uidValidity, own)
  }
})

for (const uid of [2 ** 32 - 1, 2 ** 32 - 2, 2 ** 32 - 2 ** 30]) {
  test(`UID ${uid} of a source is not kept: hardly any would be left for mail that comes`, async (t) => {
    const { store, folder, finish } = await setup(t)
    assert.deepEqual(await bring(store, folder.id, [3, uid]), [3, 4])
    assert.deepEqual(await finish(uid + 1), { hasIdentity: false })
    // It may have been the only one of its kind: nothing that is left here has another UID than there.
    const { view } = await store.openView('INBOX')
    await store.changeFlags({ view, uids: [4], action: 'add', flags: ['\\Deleted'] })
    await store.expunge({ view, uids: [4] })
    await finish(4)
    assert.equal(await appendOne(store, 'INBOX', makeMessage('later')), 5)
  })
}

for (const uidNext of [2 ** 32 - 1, 2 ** 32, 2 ** 40]) {
  test(`UIDNEXT ${uidNext} of a source is not taken over, neither at first nor later`, async (t) => {
    const { store, folder, finish } = await setup(t)
    await bring(store, folder.id, [1, 2])
    assert.deepEqual(await finish(uidNext), { hasIdentity: false })
    assert.equal((await inbox(store)).uidNext, 3)
    assert.deepEqual(await finish(3), { hasIdentity: true })
    assert.equal((await inbox(store)).uidValidity, 777)
    assert.deepEqual(await finish(uidNext), { hasIdentity: false })
    const after = await inbox(store)
    assert.notEqual(after.uidValidity, 777)
    assert.equal(after.uidNext, 3)
    assert.equal(await appendOne(store, 'INBOX', makeMessage('later')), 3)
  })
}

test('a mailbox with messages, or a source with huge mod-sequences, keeps its own UIDs', async (t) => {
  const { create } = await accountFolder(t)
  const store = await create()
  await appendOne(store, 'INBOX', makeMessage('mine'))
  const { folder } = await store.movingIn.openFolder(SOURCE, 'INBOX')
  assert.equal(folder.keepsUids, false)
  const { folder: sent } = await store.movingIn.openFolder(
    { ...SOURCE, path: 'Sent', modSeq: null },
    'Sent'
  )
  assert.equal(sent.keepsUids, false)
})

test('sessions with an open view see the new UIDVALIDITY when they open it anew, in other processes too', async (t) => {
  const { store, open, folder, finish } = await setup(t)
  const other = await open()
  await bring(store, folder.id, [5])
  const { view } = await other.openView('INBOX')
  const { view: own } = await store.openView('INBOX')
  await finish(9)
  assert.deepEqual([own.uidValidity, own.uidNext], [777, 9])
  await other.pollOtherProcesses()
  assert.deepEqual([view.uidValidity, view.uidNext], [777, 9])
  await appendOne(store, 'INBOX', makeMessage('delivered here'))
  await finish(10)
  assert.notEqual(own.uidValidity, 777, 'both have given UID 9')
  other.closeView(view)
})

test('what has come in is listed by UID with its flags, changed and forgotten', async (t) => {
  const { store, folder } = await setup(t)
  await bring(store, folder.id, [2, 9])
  await store.movingIn.noteFlags(folder.id, [{ uid: 9, flags: '\\Seen' }])
  const known = async () => {
    const messages = []
    for await (const page of store.movingIn.readKnown(folder.id)) messages.push(...page)
    return messages
  }
  assert.deepEqual(
    (await known()).map(({ uid, flags }) => [uid, flags]),
    [
      [2, ''],
      [9, '\\Seen']
    ]
  )
  assert.deepEqual(await bring(store, folder.id, [2, 10]), [0, 10], 'known is skipped')
  await store.movingIn.forget(folder.id, [2])
  assert.deepEqual(
    (await known()).map(({ uid }) => uid),
    [9, 10]
  )
})

test('what has come in is looked through in pages, each folder’s by itself', async (t) => {
  const { store, folder } = await setup(t)
  const { folder: next } = await store.movingIn.openFolder({ ...SOURCE, path: 'Sent' }, 'Sent')
  assert.equal(next.id, folder.id + 1)
  const { database } = store.searchAccess
  const knownAfter = async (/** @type {number} */ uid) =>
    (await database.read((db) => readKnownPage(db, folder.id, uid, 2))).map((known) => known.uid)
  const strangersAfter = (/** @type {number} */ uid) =>
    database.read((db) => findStrangerPage(db, folder, uid, 2))
  const highest = () => database.read((db) => highestKnownUid(db, folder.id))
  await bring(store, next.id, [0xffffffff], 'Sent')
  assert.equal(await highest(), 0)
  assert.deepEqual(await strangersAfter(0), { hasStranger: false, lastUid: null })
  await bring(store, folder.id, [2, 9, 300])
  assert.equal(await highest(), 300)
  assert.deepEqual(await knownAfter(0), [2, 9])
  assert.deepEqual(await knownAfter(9), [300])
  assert.deepEqual(await knownAfter(300), [])
  assert.deepEqual(await strangersAfter(0), { hasStranger: false, lastUid: 9 })
  assert.deepEqual(await strangersAfter(9), { hasStranger: false, lastUid: null })
  assert.equal(await appendOne(store, 'INBOX', makeMessage('stranger')), 301)
  assert.deepEqual(await strangersAfter(0), { hasStranger: false, lastUid: 9 })
  assert.deepEqual(await strangersAfter(9), { hasStranger: true, lastUid: 301 })
  assert.deepEqual(await strangersAfter(300), { hasStranger: true, lastUid: null })
})

test('a renumbered folder finds its messages again, each once', async (t) => {
  const { store, folder, finish } = await setup(t)
  await bring(store, folder.id, [1, 2])
  await finish(3)
  const again = await store.movingIn.openFolder({ ...SOURCE, uidValidity: 778 }, 'INBOX')
  assert.equal(again.isRenumbered, true)
  const bytes = makeMessage('source 2')
  const content = { hash: createHash('sha256').update(bytes).digest(), size: bytes.length }
  const link = { folder: again.folder, uid: 40, content, flags: '' }
  const rowId = await store.movingIn.linkEqual({ ...link, taken: new Set() })
  assert.ok(rowId)
  assert.equal(await store.movingIn.linkEqual({ ...link, uid: 41, taken: new Set([rowId]) }), null)
  assert.deepEqual(await bring(store, again.folder.id, [40, 41]), [0, 41], 'the one found is in')
})

test('a use moves from an empty mailbox to the one that has it at the source', async (t) => {
  const { create } = await accountFolder(t)
  const store = await create()
  await store.createMailbox('Gesendet')
  assert.equal(await store.movingIn.giveUse('Gesendet', '\\Sent'), true)
  const uses = new Map(
    (await store.listMailboxes()).map(({ name, specialUse }) => [name, specialUse])
  )
  assert.deepEqual([uses.get('Gesendet'), uses.get('Sent')], ['\\Sent', null])
  await appendOne(store, 'Trash', makeMessage('in use'))
  await store.createMailbox('Papierkorb')
  assert.equal(await store.movingIn.giveUse('Papierkorb', '\\Trash'), false)
})

test('the keys that say which messages have come are those of files that are there', () => {
  assert.equal(imapImportKey(258, 3).toString('hex'), '696d61700000010200000003')
})
