/**
 * The file of an open mailbox is moved away, or something else stands in its place: that is one account's trouble. What
 * works on it without being asked says so to the operator, and ends no process.
 */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { accountFolder, appendOne, makeMessage } from '../../helpers/account-folder.js'

/** @type {[string, (folder: string) => () => void][]} what is done, and what undoes it */
const TROUBLE = [
  [
    'the file is moved away',
    (folder) => {
      const path = join(folder, 'mail.db')
      renameSync(path, `${path}.away`)
      return () => renameSync(`${path}.away`, path)
    }
  ],
  [
    'the folder is moved away',
    (folder) => {
      renameSync(folder, `${folder}.away`)
      return () => renameSync(`${folder}.away`, folder)
    }
  ],
  [
    'a folder stands in place of the file',
    (folder) => {
      const path = join(folder, 'mail.db')
      renameSync(path, `${path}.away`)
      mkdirSync(path)
      return () => {
        rmSync(path, { recursive: true })
        renameSync(`${path}.away`, path)
      }
    }
  ]
]

for (const [title, make] of TROUBLE) {
  test(`${title}: whoever asks is told, and nothing is thrown where nobody waits`, async (t) => {
    // A second later the store would look into its file by itself, and be given up.
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const account = await accountFolder(t)
    const store = await account.create()
    await appendOne(store, 'INBOX', makeMessage('before'))
    /** @type {unknown[]} */
    const unawaited = []
    const listener = (/** @type {unknown} */ error) => unawaited.push(error)
    process.on('unhandledRejection', listener)
    t.after(() => process.off('unhandledRejection', listener))
    const undo = make(account.folder)
    try {
      await store.checkpoint()
      await assert.rejects(store.verify(), (/** @type {any} */ error) =>
        ['ACCOUNT_DAMAGED', 'KEY_REJECTED'].includes(error.code)
      )
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      undo()
    }
    assert.deepEqual(unawaited, [])
  })
}
