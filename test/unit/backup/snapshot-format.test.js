import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  SnapshotBuilder,
  UNIT_BYTES,
  decodeSnapshot,
  encodeSnapshot,
  unitsOf
} from '../../../src/backup/snapshot-format.js'

const FACTS = { accountId: '0123456789abcdef', keyEpoch: 3, cipher: 'chacha20' }
const SPOOL = `spool/${'ab'.repeat(16)}.sealed`

/**
 * @param {{ path: string, size: number }[]} files
 */
function build(files) {
  const builder = new SnapshotBuilder()
  /** @type {{ path: string, hash: Buffer, pack: string, offset: number, length: number }[]} */
  const units = []
  for (const file of files) {
    builder.startFile(file)
    for (let at = 0; at < file.size; at += UNIT_BYTES) {
      const unit = {
        path: file.path,
        hash: randomBytes(32),
        pack: `pack ${units.length % 2}`,
        offset: units.length * 10,
        length: Math.min(UNIT_BYTES, file.size - at)
      }
      builder.addUnit(unit.hash, unit)
      units.push(unit)
    }
  }
  return { builder, units }
}

const FILES = [
  { path: SPOOL, size: 4096 },
  { path: SPOOL.replace('/', '/aside/'), size: UNIT_BYTES },
  { path: 'mail.db-wal', size: 0 },
  { path: 'mail.db', size: UNIT_BYTES * 3 + 1 }
]

test('a snapshot comes back as it was written', () => {
  const { builder, units } = build(FILES)
  const snapshot = decodeSnapshot(encodeSnapshot(builder.finish(FACTS)))
  assert.deepEqual(
    { accountId: snapshot.accountId, keyEpoch: snapshot.keyEpoch, cipher: snapshot.cipher },
    FACTS
  )
  assert.deepEqual(snapshot.files, FILES)
  const read = [...unitsOf(snapshot)].map(({ file, hash, pack, offset, length }) => ({
    path: file.path,
    hash: Buffer.from(hash),
    pack,
    offset,
    length
  }))
  assert.deepEqual(read, units)
})

test('the units of some files only are found behind those of the others', () => {
  const { builder, units } = build(FILES)
  const snapshot = builder.finish(FACTS)
  const read = [...unitsOf(snapshot, ({ path }) => path === 'mail.db')]
  assert.deepEqual(
    read.map(({ offset, isLast }) => [offset, isLast]),
    units.filter(({ path }) => path === 'mail.db').map(({ offset }, i) => [offset, i === 3])
  )
})

test('a part of a snapshot is one itself: its last file ends where its units do', () => {
  const builder = new SnapshotBuilder()
  builder.startFile({ path: SPOOL, size: UNIT_BYTES + 1 })
  for (let i = 0; i < 2; i++) builder.addUnit(randomBytes(32), { pack: 'p', offset: i })
  builder.startFile({ path: 'mail.db', size: UNIT_BYTES * 10 })
  for (let i = 0; i < 4; i++) builder.addUnit(randomBytes(32), { pack: 'p', offset: i })
  const part = decodeSnapshot(encodeSnapshot(builder.finishPart(FACTS)))
  assert.deepEqual(part.files, [
    { path: SPOOL, size: UNIT_BYTES + 1 },
    { path: 'mail.db', size: UNIT_BYTES * 4 }
  ])
  assert.equal([...unitsOf(part)].length, 6)
  for (let i = 0; i < 6; i++) builder.addUnit(randomBytes(32), { pack: 'p', offset: i })
  builder.startFile({ path: SPOOL.replace('/', '/aside/'), size: UNIT_BYTES + 1 })
  for (let i = 0; i < 2; i++) builder.addUnit(randomBytes(32), { pack: 'p', offset: i })
  // Whole, it keeps its size.
  assert.equal(builder.finishPart(FACTS).files.at(-1)?.size, UNIT_BYTES + 1)
})

const whole = encodeSnapshot(build(FILES).builder.finish(FACTS))
const of = (/** @type {string} */ path, size = 10) =>
  encodeSnapshot(build([{ path, size }]).builder.finish(FACTS))
const sealed = `${'ab'.repeat(16)}.sealed`
const forged = (/** @type {object} */ header) =>
  encodeSnapshot({ ...build(FILES).builder.finish(FACTS), ...header })
const noPack = encodeSnapshot({ ...build(FILES).builder.finish(FACTS), packs: [] })

for (const [name, bytes] of /** @type {[string, Buffer][]} */ ([
  ['nothing', Buffer.alloc(0)],
  ['something else', Buffer.from('SQLite format 3')],
  ['one that was cut', whole.subarray(0, whole.length - 1)],
  ['one whose header was cut', whole.subarray(0, 40)],
  ['one that ends before its header', whole.subarray(0, whole.indexOf('\n') + 3)],
  ['one without files', forged({ files: null })],
  ['one without packs', forged({ packs: null })],
  ['one that leads out of the folder', of('../../etc/passwd')],
  ['one that leads out of it to a mailbox', of('../mail.db')],
  ['one that leads out of it to mail', of(`../spool/${sealed}`)],
  ['one that leads into a mailbox', of('mail.db/..')],
  ['one that leads out of the spool', of(`spool/../${sealed}`)],
  ['one of a name that no mail has', of(`spool/${sealed.toUpperCase()}`)],
  ['one of a file below nothing', of('mail.db', -1)],
  ['one of half a byte', of('mail.db', 0.5)]
])) {
  test(`${name} is no snapshot`, () => {
    assert.throws(() => decodeSnapshot(bytes), { code: 'BACKUP_DAMAGED' })
  })
}

test('a unit that names no pack is damage', () => {
  assert.throws(() => [...unitsOf(decodeSnapshot(noPack))], { code: 'BACKUP_DAMAGED' })
})
