/**
 * From a snapshot to files, wherever its units lie.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { materialize, requireMailboxHeader } from '../../../src/backup/materialize.js'
import { newPackName, packObject } from '../../../src/backup/repository.js'
import { SnapshotBuilder, UNIT_BYTES } from '../../../src/backup/snapshot-format.js'
import { sha256 } from '../../../src/backup/staging.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { scratchFolder } from '../../helpers/account-folder.js'

const FACTS = { accountId: '0123456789abcdef', keyEpoch: 1, cipher: 'chacha20' }
const SPOOL = `spool/${'ab'.repeat(16)}.sealed`
const LARGEST_READ = 4 * 1024 * 1024

/**
 * @param {object} [fields]
 * @param {number} [fields.pageBytes]
 * @param {number[]} [fields.versions] - bytes 18 and 19
 * @param {number[]} [fields.fractions] - bytes 21 to 23
 * @returns {Buffer} the beginning of a mailbox
 */
function headerOf({ pageBytes = 4096, versions = [2, 2], fractions = [64, 32, 32] } = {}) {
  const header = randomBytes(24)
  header.writeUInt16BE(pageBytes, 16)
  header.set(versions, 18)
  header.set(fractions, 21)
  return header
}

test('units come back from several packs, with gaps between them, in few reads of a bounded size', async (t) => {
  const folder = await scratchFolder(t)
  const target = openFolderTarget(join(folder, 'target'))
  const mailbox = randomBytes(140 * UNIT_BYTES + 4096)
  headerOf().copy(mailbox)
  const waiting = randomBytes(100)
  const builder = new SnapshotBuilder()
  const packs = [newPackName(), newPackName()].map((name) => ({
    name,
    pieces: /** @type {Buffer[]} */ ([Buffer.alloc(10)]),
    bytes: 10
  }))
  const append = (/** @type {Buffer} */ piece, at = 0) => {
    const pack = packs[at]
    assert.ok(pack)
    const place = { pack: pack.name, offset: pack.bytes }
    pack.pieces.push(piece)
    pack.bytes += piece.length
    return place
  }
  const add = (/** @type {Buffer} */ unit, at = 0) =>
    builder.addUnit(sha256(unit), append(unit, at))
  builder.startFile({ path: SPOOL, size: waiting.length })
  add(waiting)
  builder.startFile({ path: 'mail.db', size: mailbox.length })
  for (let at = 0, number = 0; at < mailbox.length; at += UNIT_BYTES, number++) {
    // A unit that was there already, and then one that nobody needs any more.
    if (number === 3) append(randomBytes(UNIT_BYTES))
    add(mailbox.subarray(at, at + UNIT_BYTES), number === 1 ? 1 : 0)
  }
  for (const { name, pieces } of packs) await target.put(packObject(name), Buffer.concat(pieces))
  /** @type {number[]} */
  const reads = []
  const made = join(folder, 'made')
  const snapshot = builder.finish(FACTS)
  await materialize({ target, snapshot, folder: made, onRead: (bytes) => reads.push(bytes) })
  assert.deepEqual(await readFile(join(made, 'mail.db')), mailbox)
  assert.deepEqual(await readFile(join(made, SPOOL)), waiting)
  assert.equal((await stat(join(made, 'mail.db'))).mode & 0o777, 0o600)
  // The mail that waits with the first unit, the second, the third, and what is left in as many as it takes.
  assert.deepEqual(reads, [
    100 + UNIT_BYTES,
    UNIT_BYTES,
    UNIT_BYTES,
    LARGEST_READ,
    LARGEST_READ,
    9 * UNIT_BYTES + 4096
  ])
})

test('what begins as no mailbox does is not taken for one', () => {
  const size = 10 * 4096
  requireMailboxHeader(headerOf(), size)
  requireMailboxHeader(headerOf({ pageBytes: 512 }), 512)
  /** @type {[Buffer, number][]} */
  const others = [
    [headerOf().subarray(0, 23), size],
    [headerOf(), size + 512],
    [headerOf({ pageBytes: 0 }), size],
    [headerOf({ pageBytes: 256 }), size],
    [headerOf({ pageBytes: 5120 }), 10 * 5120],
    [headerOf({ versions: [1, 2] }), size],
    [headerOf({ versions: [2, 1] }), size],
    ...[0, 1, 2].map((at) => {
      const fractions = [64, 32, 32].map((value, index) => (index === at ? value + 1 : value))
      return /** @type {[Buffer, number]} */ ([headerOf({ fractions }), size])
    })
  ]
  for (const [header, bytes] of others)
    assert.throws(() => requireMailboxHeader(header, bytes), { code: 'BACKUP_DAMAGED' })
})
