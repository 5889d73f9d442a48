/** Small files that are read before it is their turn, and what becomes of them until then. */
import assert from 'node:assert/strict'
import { appendFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readAhead } from '../../../src/import/byte-source.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { collectBytes } from '../../helpers/collect.js'

const MAIL = Buffer.from('Subject: one\r\n\r\nbody\r\n')
const LARGE = Buffer.concat([MAIL, Buffer.alloc(300_000, 'line after line\r\n')])

/** @type {[string, Buffer, Buffer][]} what lies there, and what is read of it */
const FILES = [
  ['a small one', MAIL, MAIL],
  ['an empty one', Buffer.alloc(0), Buffer.alloc(0)],
  ['one that is packed', gzipSync(MAIL), MAIL],
  ['one of several pieces', LARGE, LARGE]
]

for (const [what, bytes, expected] of FILES)
  test(`${what} is read as a whole`, async (t) => {
    const path = join(await scratchFolder(t), 'message')
    await writeFile(path, bytes)
    const read = await readAhead(path, await stat(path))
    assert.deepEqual(await collectBytes(read()), expected)
  })

test('one that has changed since it was looked at is read as it is', async (t) => {
  const path = join(await scratchFolder(t), 'message')
  await writeFile(path, MAIL)
  const before = await stat(path)
  await appendFile(path, 'more\r\n')
  const longer = await readAhead(path, before)
  assert.equal(String(await collectBytes(longer())), `${MAIL}more\r\n`)
  await truncate(path, 5)
  const shorter = await readAhead(path, before)
  assert.equal(String(await collectBytes(shorter())), 'Subje')
})

test('one that is gone tells so when it is its turn', async (t) => {
  const path = join(await scratchFolder(t), 'message')
  await writeFile(path, MAIL)
  const before = await stat(path)
  await rm(path)
  for (const stats of [before, null]) {
    const read = await readAhead(path, stats)
    await assert.rejects(collectBytes(read()), { code: 'ENOENT' })
  }
})
