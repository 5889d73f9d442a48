/**
 * A second process that has a mailbox open and knows nothing of backups: it writes and, if told so, checkpoints and closes,
 * over and over, until it is killed.
 *
 *     rude-writer.js <account folder> [writes | checkpoints | closes]
 *
 * The key is 32 bytes of 7.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { openEncryptedDatabase } from '../../src/database/open.js'

const [folder = '', habit = 'closes'] = process.argv.slice(2)
const path = join(folder, 'mail.db')
const key = Buffer.alloc(32, 7)
const open = () => openEncryptedDatabase({ path, key, cipher: 'chacha20', isBlocking: true }).db
let db = open()
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
