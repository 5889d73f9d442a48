/**
 * Flags of messages that are copied from another IMAP server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copy, messageOf } from '../../../helpers/copy-account.js'
import { startImapSource } from '../../../helpers/imap-source.js'
import { temporaryStore } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

/**
 * @param {AccountStore} store
 * @param {'add' | 'remove'} action
 * @param {string[]} flags - of the first message of INBOX
 */
async function changeHere(store, action, flags) {
  const { view } = await store.openView('INBOX')
  await store.changeFlags({ view, uids: [1], action, flags })
  store.closeView(view)
}

/**
 * @param {AccountStore} store
 * @returns {Promise<string[]>} flags of the first message of INBOX, sorted
 */
async function flagsHere(store) {
  const { view } = await store.openView('INBOX')
  const [row] = await store.readMessages(view.mailboxId, [1], { row: true })
  store.closeView(view)
  return store.keywords.flagNames(row?.flags ?? 0, row?.keywords ?? 0).sort()
}

test('flags of a folder that is renumbered while it is read are no other messages’ flags', async (t) => {
  const store = await temporaryStore(t)
  const folder = { uidValidity: 7, messages: [messageOf(1)] }
  let isCut = false
  const { port } = await startImapSource(t, {
    folders: { INBOX: folder },
    answer: ({ command, socket }) => {
      if (isCut || !/^UID FETCH 1 \(UID FLAGS\)/.test(command)) return false
      // The server is started anew, with its folders indexed anew.
      isCut = true
      folder.uidValidity = 8
      folder.messages = [{ ...messageOf(1), bytes: Buffer.from('another'), flags: '\\Flagged' }]
      socket.destroy()
      return true
    }
  })
  assert.equal((await copy(store, port)).copied, 1)
  const { failed, failures, flagged } = await copy(store, port)
  assert.ok(isCut)
  assert.deepEqual([failed, flagged], [1, 0], failures.join())
})

test('what flags were changed here alone stays where others of the message change at the source', async (t) => {
  const store = await temporaryStore(t)
  const message = { ...messageOf(1), flags: '\\Flagged Plan' }
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [message] } }
  })
  await copy(store, port)
  await changeHere(store, 'add', ['\\Seen', 'Here'])
  await changeHere(store, 'remove', ['\\Flagged'])
  message.flags = '\\Flagged \\Answered'
  assert.equal((await copy(store, port)).flagged, 1)
  assert.deepEqual(await flagsHere(store), ['Here', '\\Answered', '\\Seen'])
  message.flags = ''
  assert.equal((await copy(store, port)).flagged, 1)
  assert.deepEqual(await flagsHere(store), ['Here', '\\Seen'])
})

test('a keyword that the source writes in other letters than before stays', async (t) => {
  const store = await temporaryStore(t)
  const message = { ...messageOf(1), flags: 'Work Plan' }
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [message] } }
  })
  await copy(store, port)
  message.flags = 'WORK'
  await copy(store, port)
  assert.deepEqual(await flagsHere(store), ['Work'])
})

test('where no keyword is left, what else changes of the flags at the source comes all the same', async (t) => {
  const store = await temporaryStore(t)
  const message = { ...messageOf(1), flags: '\\Flagged' }
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [message] } }
  })
  assert.equal((await copy(store, port)).copied, 1)
  const all = Array.from({ length: 59 }, (_, number) => `k${number}`)
  await changeHere(store, 'add', all)
  await changeHere(store, 'remove', all)
  message.flags = '\\Seen \\Answered other'
  const { flagged, failures } = await copy(store, port)
  assert.deepEqual([flagged, failures], [1, []])
  assert.deepEqual(await flagsHere(store), ['\\Answered', '\\Seen'])
})

for (const [what, modSeq] of /** @type {const} */ ([
  ['goes on counting its changes', 1001],
  ['has lost its index and counts its changes anew', 5],
  ['counts its changes higher than we can', 2n ** 62n]
]))
  test(`flags come from a source that ${what}`, async (t) => {
    const store = await temporaryStore(t)
    const message = { ...messageOf(1), flags: '' }
    let highest = 1000n
    const { port } = await startImapSource(t, {
      folders: { INBOX: { uidValidity: 7, messages: [message] } },
      answer: ({ command, say, end }) => {
        if (command === 'CAPABILITY') say('CAPABILITY IMAP4rev1 ENABLE CONDSTORE')
        else if (command.startsWith('ENABLE')) say('ENABLED CONDSTORE')
        else if (command.includes('CHANGEDSINCE')) {
          const [, since = ''] = /CHANGEDSINCE (\d+)/.exec(command) ?? []
          if (highest > BigInt(since))
            say(`1 FETCH (UID 1 FLAGS (${message.flags}) MODSEQ (${highest}))`)
        } else {
          if (command.startsWith('EXAMINE')) say(`OK [HIGHESTMODSEQ ${highest}] highest`)
          return false
        }
        end()
        return true
      }
    })
    assert.equal((await copy(store, port)).copied, 1)
    assert.equal((await copy(store, port)).flagged, 0)
    for (const flags of ['\\Seen', '\\Answered \\Seen']) {
      message.flags = flags
      highest = highest === 1000n ? BigInt(modSeq) : highest + 1n
      assert.equal((await copy(store, port)).flagged, 1)
      assert.deepEqual(await flagsHere(store), flags.split(' '))
    }
  })

test('a message whose flags are NIL has none', async (t) => {
  const store = await temporaryStore(t)
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [messageOf(1)] } },
    answer: ({ command, say, end }) => {
      if (!command.includes('RFC822.SIZE')) return false
      say('1 FETCH (UID 1 FLAGS NIL INTERNALDATE "01-Jan-2024 10:00:00 +0100" RFC822.SIZE 20)')
      end()
      return true
    }
  })
  assert.equal((await copy(store, port)).copied, 1)
})

test('a message brings every keyword that a client could set here', async (t) => {
  const store = await temporaryStore(t)
  const keywords = ['a[b', 'a}b', '[x', 'constructor', 'k'.repeat(128)]
  const message = { ...messageOf(1), flags: ['\\Seen', ...keywords].join(' ') }
  const { port } = await startImapSource(t, {
    folders: { INBOX: { uidValidity: 7, messages: [message] } }
  })
  assert.equal((await copy(store, port)).copied, 1)
  assert.deepEqual(await flagsHere(store), ['\\Seen', ...keywords].sort())
})
