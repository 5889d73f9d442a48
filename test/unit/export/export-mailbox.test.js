import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { exportMailboxes, requireEmptyFolder } from '../../../src/export/export-mailbox.js'
import { emlTarget } from '../../../src/export/write-eml.js'
import {
  accountFolder,
  appendOne,
  makeMessage,
  scratchFolder
} from '../../helpers/account-folder.js'

test('a mailbox that is deleted meanwhile is left out, a renamed one keeps the name that it had', async (t) => {
  const store = await (await accountFolder(t)).create()
  for (const name of ['A', 'B', 'C', 'D']) {
    await store.createMailbox(name)
    for (const subject of ['a', 'b']) await appendOne(store, name, makeMessage(subject))
  }
  const folder = await scratchFolder(t)
  const target = emlTarget(folder)
  const summary = await exportMailboxes({
    store,
    isWanted: (name) => /^[A-D]$/.test(name),
    target: {
      openMailbox: async (name) => {
        if (name === 'A') {
          await store.deleteMailbox('B')
          await store.renameMailbox('C', 'Z')
          // Its messages are being read when it goes.
          await store.deleteMailbox('A')
        }
        return await target.openMailbox(name)
      }
    }
  })
  assert.equal(summary.mailboxes, 3)
  const written = readdirSync(folder, { recursive: true }).map(String).sort()
  const wanted = ['C', 'D'].flatMap((name) => [
    name,
    ...[1, 2].map((n) => `${name}/0000000${n}.eml`)
  ])
  assert.deepEqual(
    written.filter((path) => !path.startsWith('A')),
    wanted
  )
})

test('an export that is ended early says what it has written, and begins no further mailbox', async (t) => {
  const store = await (await accountFolder(t)).create()
  for (const name of ['Archive', 'INBOX'])
    for (const subject of ['a', 'b']) await appendOne(store, name, makeMessage(subject))
  const folder = await scratchFolder(t)
  const ended = new AbortController()
  const summary = await exportMailboxes({
    store,
    target: emlTarget(folder),
    onProgress: () => ended.abort(),
    signal: ended.signal
  })
  assert.deepEqual(summary, { mailboxes: 1, messages: 1, bytes: makeMessage('a').length })
  assert.equal(readdirSync(folder).length, 1)
})

test('nothing is written where something is', async (t) => {
  const scratch = await scratchFolder(t)
  writeFileSync(join(scratch, 'x'), '')
  await assert.rejects(requireEmptyFolder(scratch), { code: 'EXPORT_REFUSED' })
})
