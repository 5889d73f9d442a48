/** What an account is made with gives way to what the source has, and nothing that was ever used does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareMailbox } from '../../../../src/import/imap/prepare-mailboxes.js'
import { accountFolder, appendOne, makeMessage } from '../../../helpers/account-folder.js'

/** @typedef {import('../../../../src/import/imap/plan-folders.js').PlannedFolder} PlannedFolder */

const SENT = '\\Sent'
const ARCHIVE = '\\Archive'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} Store */

/** @param {Store} store */
const fill = (store) => appendOne(store, 'Sent', makeMessage('sent'), ['\\Deleted'])

/** @param {Store} store */
async function fillAndEmpty(store) {
  await fill(store)
  const { view } = await store.openView('Sent')
  await store.expunge({ view, uids: null })
}

/** @param {Store} store */
async function archive(store) {
  await store.deleteMailbox('Archive')
  await store.createMailbox('Gesendet', { specialUse: ARCHIVE })
}

/**
 * What was done before, other folders of the source, and the mailboxes with their use after that.
 *
 * @type {[string, ((store: Store) => Promise<unknown>) | null, string[], Record<string, string | null>][]}
 */
const CASES = [
  ['was never used', null, [], { Gesendet: SENT }],
  ['is a folder of the source too', null, ['Sent'], { Gesendet: SENT, Sent: null }],
  ['has mail', fill, [], { Gesendet: null, Sent: SENT }],
  ['had mail', fillAndEmpty, [], { Gesendet: SENT, Sent: null }],
  ['cannot be replaced by what has another use', archive, [], { Gesendet: ARCHIVE, Sent: SENT }]
]

for (const [what, before, others, expected] of CASES)
  test(`where the source calls it otherwise, a Sent that ${what}`, async (t) => {
    const store = await (await accountFolder(t)).create()
    await before?.(store)
    const folder = (/** @type {string} */ mailbox, /** @type {string | null} */ use = null) =>
      /** @type {PlannedFolder} */ ({ mailbox, use, isSubscribed: true })
    const sent = folder('Gesendet', SENT)
    const plan = [sent, ...others.map((name) => folder(name))]
    // The second run finds what the first one has made.
    for (const run of [1, 2]) {
      await prepareMailbox(store, plan, sent)
      const mailboxes = (await store.listMailboxes()).filter(
        ({ name }) => name === 'Sent' || name === 'Gesendet'
      )
      assert.deepEqual(
        Object.fromEntries(mailboxes.map(({ name, specialUse }) => [name, specialUse])),
        expected,
        `run ${run}`
      )
    }
  })

test('a Sent into which mail comes at the last moment stays', async (t) => {
  const store = await (await accountFolder(t)).create()
  const sent = /** @type {PlannedFolder} */ ({ mailbox: 'Gesendet', use: SENT, isSubscribed: true })
  const preparing = prepareMailbox(store, [sent], sent)
  // As soon as the use is no longer its own, and before it goes.
  const giveUse = store.movingIn.giveUse.bind(store.movingIn)
  store.movingIn.giveUse = async (name, use) => {
    const hasUse = await giveUse(name, use)
    await fill(store)
    return hasUse
  }
  await preparing
  const kept = (await store.listMailboxes()).find(({ name }) => name === 'Sent')
  assert.equal(kept?.messageCount, 1)
})

test('mailboxes are subscribed as the folders are there, and one that gives way is so no more', async (t) => {
  const store = await (await accountFolder(t)).create()
  const plan = /** @type {PlannedFolder[]} */ ([
    { mailbox: 'INBOX', use: null, isSubscribed: false },
    { mailbox: 'Gesendet', use: SENT, isSubscribed: true },
    { mailbox: 'Hidden', use: null, isSubscribed: false },
    { mailbox: 'Drafts', use: '\\Drafts', isSubscribed: false }
  ])
  for (const folder of plan) await prepareMailbox(store, plan, folder)
  assert.deepEqual((await store.listSubscriptions()).sort(), [
    'Archive',
    'Gesendet',
    'INBOX',
    'Junk',
    'Trash'
  ])
  assert.ok((await store.listMailboxes()).some(({ name }) => name === 'Hidden'))
})

test('two runs that begin at once make one mailbox, and neither fails', async (t) => {
  const store = await (await accountFolder(t)).create()
  const sent = /** @type {PlannedFolder} */ ({ mailbox: 'Gesendet', use: SENT, isSubscribed: true })
  await Promise.all(Array.from({ length: 3 }, () => prepareMailbox(store, [sent], sent)))
  const uses = new Map((await store.listMailboxes()).map((row) => [row.name, row.specialUse]))
  assert.equal(uses.get('Gesendet'), SENT)
  assert.equal(uses.has('Sent'), false)
})
