import assert from 'node:assert/strict'
import test from 'node:test'
import { openEncryptedDatabase } from '../../../../src/database/open.js'
import { readPending } from '../../../../src/store/search/index-rows.js'
import { accountFolder, appendOne } from '../../../helpers/account-folder.js'

test('an empty list of what waits is not sought among all contents, whatever the statistics say', async (t) => {
  const { folder, key, create } = await accountFolder(t)
  const store = await create()
  for (let n = 0; n < 30; n++) await appendOne(store, 'INBOX', Buffer.from(`Subject: ${n}\r\n\r\n`))
  await store.indexSearch()
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  t.after(() => db.close())
  db.exec('ANALYZE')
  const statistics = db.prepare('SELECT DISTINCT tbl FROM sqlite_stat1').pluck().all()
  assert.ok(statistics.includes('contents') && !statistics.includes('search_pending'))

  /** @type {string[]} */
  const plans = []
  const explaining = new Proxy(db, {
    get: (target, name) =>
      name === 'prepare'
        ? (/** @type {string} */ sql) => {
            const steps = /** @type {{ detail: string }[]} */ (
              target.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(0, 1)
            )
            plans.push(...steps.map(({ detail }) => detail))
            return target.prepare(sql)
          }
        : Reflect.get(target, name)
  })
  assert.deepEqual(readPending(explaining, 0, 10), [])
  assert.match(plans[0] ?? '', /^(SCAN|SEARCH) p\b/)
  assert.match(plans[1] ?? '', /^SEARCH c USING INTEGER PRIMARY KEY \(rowid=\?\)/)
  assert.equal(plans.length, 2)
})
