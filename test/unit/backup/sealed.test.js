import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import {
  RecoveryKey,
  makeRecoveryKey,
  requireRecipient,
  sealBytes,
  sealFile
} from '../../../src/backup/sealed.js'
import { scratchFolder } from '../../helpers/account-folder.js'

test('what is sealed opens with the recovery key, as it may have been typed, and with no other', async () => {
  const { recoveryKey, recipient } = await makeRecoveryKey()
  const plaintext = randomBytes(100_000)
  const sealed = await sealBytes(plaintext, recipient)
  const key = await RecoveryKey.parse(` ${recoveryKey.toLowerCase()}\n`)
  assert.deepEqual(await key.open(sealed), plaintext)
  assert.equal(key.recipient, recipient)
  const other = await RecoveryKey.parse((await makeRecoveryKey()).recoveryKey)
  await assert.rejects(other.open(sealed), { code: 'RECOVERY_KEY_REJECTED' })
})

test('what is opened lies in memory of its own, and whoever zeroes it leaves nothing of it', async () => {
  const { recoveryKey, recipient } = await makeRecoveryKey()
  const sealed = await sealBytes(Buffer.alloc(32, 7), recipient)
  const opened = await (await RecoveryKey.parse(recoveryKey)).open(sealed)
  assert.deepEqual(opened, Buffer.alloc(32, 7))
  assert.equal(opened.buffer.byteLength, opened.byteLength)
})

test('the recipient is a hybrid one: both problems must be broken', async () => {
  const { recipient } = await makeRecoveryKey()
  // 1,216 bytes by fives of bits, and the checksum.
  assert.match(recipient, /^age1pq1[0-9a-z]{1952}$/)
})

test('a changed byte does not open', async () => {
  const { recoveryKey, recipient } = await makeRecoveryKey()
  const sealed = await sealBytes(Buffer.from('secret'), recipient)
  sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
  await assert.rejects((await RecoveryKey.parse(recoveryKey)).open(sealed), {
    code: 'RECOVERY_KEY_REJECTED'
  })
})

test('a file is sealed as bytes are', async (t) => {
  const folder = await scratchFolder(t)
  const { recoveryKey, recipient } = await makeRecoveryKey()
  const plaintext = randomBytes(300_000)
  await writeFile(join(folder, 'a'), plaintext)
  await sealFile(join(folder, 'a'), join(folder, 'b'), recipient)
  const key = await RecoveryKey.parse(recoveryKey)
  const opened = await key.open(await readFile(join(folder, 'b')))
  assert.deepEqual(opened, plaintext)
})

test('a mistyped key is refused without being repeated', async () => {
  const { recoveryKey } = await makeRecoveryKey()
  const typed = `${recoveryKey.slice(0, -1)}${recoveryKey.endsWith('Q') ? 'P' : 'Q'}`
  await assert.rejects(
    RecoveryKey.parse(typed),
    (/** @type {any} */ error) =>
      error.code === 'RECOVERY_KEY_REJECTED' && !inspect(error).includes(typed.slice(20))
  )
})

test('what is no recipient is refused', async () => {
  await assert.rejects(requireRecipient('age1nonsense'), { code: 'CONFIG_INVALID' })
})
