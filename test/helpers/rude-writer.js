/**
 * A second process that has a mailbox open and knows nothing of backups: it writes and, if told so, checkpoints and closes,
 * over and over, until it is killed.
 *
 *     rude-writer.js <account folder> [writes | checkpoints | closes | restarts]
 *
 * `restarts` leaves a -wal that is in the file already, and begins it anew whenever it is sent a line.
 *
 * The key is 32 bytes of 7.
 */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { openEncryptedDatabase } from '../../src/database/open.js'

const [folder = '', habit = 'closes'] = process.argv.slice(2)
const path = join(folder, 'mail.db')
const key = Buffer.alloc(32, 7)
const open = () => openEncryptedDatabase({ path, key, cipher: 'chacha20', isBlocking: true }).db
let db = open()

/**
 * @param {number} from
 * @param {number} to
 */
function scribble(from, to) {
  const insert = db.prepare('INSERT INTO scribble (id, data) VALUES (?, randomblob(20000))')
  for (let id = from; id < to; id++) insert.run(id)
}

if (habit === 'restarts') {
  db.exec('CREATE TABLE scribble (id INTEGER PRIMARY KEY, data BLOB) STRICT')
  scribble(0, 60)
  db.pragma('wal_checkpoint(TRUNCATE)')
  // Pages that the first half of the log relies on are gone after the second.
  scribble(60, 120)
  db.exec('DELETE FROM scribble WHERE id < 60')
  db.pragma('wal_checkpoint(PASSIVE)')
  writeSync(1, 'ready\n')
  for (let next = 1000; ; next += 70) {
    await once(process.stdin, 'data')
    scribble(next, next + 70)
    writeSync(1, 'ack\n')
  }
}
for (let round = 0; ; round++) {
  db.exec('CREATE TABLE IF NOT EXISTS scribble (id INTEGER PRIMARY KEY, data BLOB) STRICT')
  for (let i = 0; i < 20; i++) {
    db.prepare('INSERT OR REPLACE INTO scribble (id, data) VALUES (?, randomblob(20000))').run(
      (round * 20 + i) % 100
    )
    if (habit !== 'writes' && i % 5 === 4) db.pragma('wal_checkpoint(TRUNCATE)')
  }
  if (habit === 'closes') {
    db.close()
    db = open()
  }
  if (round === 0) writeSync(1, 'ready\n')
}
