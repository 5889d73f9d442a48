/**
 * The directory as a backup takes it.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import Database from 'better-sqlite3-multiple-ciphers'
import { DirectorySnapshot } from '../../../src/accounts/directory-snapshot.js'
import { openDirectory } from '../../../src/accounts/directory.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { ManualClock } from '../../helpers/manual-clock.js'

test('a directory of any size is copied as of one moment while others write to it all the time', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-snapshot-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  const path = join(data, 'directory.db')
  const { logger } = recordingLogger()
  await openDirectory({ path, clock: new ManualClock(), logger }).close()
  // Stands for the workers: each commit of its is another connection's.
  const writer = new Database(path)
  t.after(() => writer.close())
  writer.exec(
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000)
     INSERT INTO audit (at_ms, action, detail) SELECT n, 'login', hex(zeroblob(200)) FROM n`
  )
  const add = writer.prepare("INSERT INTO audit (at_ms, action) VALUES (1, 'login')")
  const copyPath = join(data, 'copy.db')
  const during = { isTaken: false, commits: 0 }
  const taking = DirectorySnapshot.take(path, copyPath).then((taken) => {
    during.isTaken = true
    return taken
  })
  for (; !during.isTaken && during.commits < 500; during.commits++) {
    add.run()
    await turn()
  }
  const { isTaken, commits } = during
  const snapshot = await taking
  assert.ok(isTaken, `not copied beside ${commits} commits`)
  const copy = new Database(copyPath, { readonly: true })
  const events = Number(copy.prepare('SELECT count(*) FROM audit').pluck().get())
  assert.equal(copy.pragma('integrity_check', { simple: true }), 'ok')
  copy.close()
  assert.ok(events >= 10_000 && events <= 10_000 + commits, `${events} events`)
  await snapshot.discard()
})
