/**
 * A mailbox that nobody has open is copied.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readFreezeFile } from '../../../src/database/freeze-file.js'
import { OWNER, look, mailboxToCopy, start } from '../../helpers/copied-mailbox.js'
import { PAGE_BYTES, damagePage } from '../../helpers/damage-page.js'

test('a mailbox that nobody has open is copied as it lies', async (t) => {
  const { copy, place, folder } = await mailboxToCopy(t)
  const made = await copy()
  assert.deepEqual(look(await place(made, 'copy')), { integrity: 'ok', messages: 10 })
  assert.ok(made.stamp)
  assert.equal(readFreezeFile(folder), null)
  const again = await copy({ previousStamp: made.stamp })
  assert.equal(again.mailbox, null)
})

test('what a crash left in the -wal comes along', async (t) => {
  const { copy, place, folder, runFolder } = await mailboxToCopy(t)
  const owner = await start(OWNER, [folder, runFolder, 'a'])
  while (owner.acknowledged() < 20) await sleep(5)
  await owner.kill()
  const acknowledged = owner.acknowledged()
  assert.ok(statSync(join(folder, 'mail.db-wal')).size > 0)
  const made = await copy()
  assert.equal(made.stamp, null)
  const { integrity, messages } = look(await place(made, 'copy'))
  assert.equal(integrity, 'ok')
  assert.ok(messages >= 10 + acknowledged)
  // The killed owner's socket is gone as well.
  assert.deepEqual(await readdir(runFolder), [])
})

test('a mailbox that is written while it is read is read again', async (t) => {
  const { copy, place, folder } = await mailboxToCopy(t)
  const path = join(folder, 'mail.db')
  let isWritten = false
  const made = await copy({
    onRead: () => {
      if (isWritten) return
      isWritten = true
      // As by a process that asks nobody: what has been read, and what is still to be.
      for (const page of [2, statSync(path).size / PAGE_BYTES]) damagePage(path, page)
    }
  })
  const copied = await readFile(join(await place(made, 'copy'), 'mail.db'))
  assert.ok(copied.equals(await readFile(path)))
})

test('mail that is set aside while the spool is read is in the copy', async (t) => {
  const { copy, folder } = await mailboxToCopy(t)
  const first = `${'a'.repeat(32)}.sealed`
  const second = `${'b'.repeat(32)}.sealed`
  mkdirSync(join(folder, 'spool', 'aside'), { recursive: true })
  for (const name of [first, second]) writeFileSync(join(folder, 'spool', name), 'x')
  let isMoved = false
  const made = await copy({
    onRead: () => {
      if (isMoved) return
      isMoved = true
      for (const name of [first, second])
        renameSync(join(folder, 'spool', name), join(folder, 'spool', 'aside', name))
    }
  })
  const paths = made.spool.map(({ path }) => path)
  assert.deepEqual(paths, [`spool/${first}`, `spool/aside/${second}`])
})

test('an account without a mailbox is damaged, and gets no mail.freeze', async (t) => {
  const { copy, folder } = await mailboxToCopy(t)
  const bytes = await readFile(join(folder, 'mail.db'))
  assert.ok(bytes.length > 0)
  rmSync(join(folder, 'mail.db'))
  await assert.rejects(copy(), { code: 'ACCOUNT_DAMAGED' })
  assert.equal(existsSync(join(folder, 'mail.freeze')), false)
})
