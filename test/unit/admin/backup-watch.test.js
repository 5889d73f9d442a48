import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { unreadableBackups } from '../../../src/backup/backup-list.js'
import { BackupWatch } from '../../../src/admin/backup-watch.js'
import { startAdmin } from '../../helpers/admin.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { S3_ENVIRONMENT } from '../../helpers/s3-server.js'

Object.assign(process.env, S3_ENVIRONMENT)

/** @typedef {import('../../../src/backup/backup-list.js').BackupList} BackupList */

/** @type {BackupList} */
const LIST = Object.freeze({ ...unreadableBackups(''), problem: null })

/**
 * @returns {{ clock: ManualClock, looks: PromiseWithResolvers<BackupList>[], watch: BackupWatch }} a place that answers each
 *   look when it is told to
 */
function openWatch() {
  const clock = new ManualClock()
  /** @type {PromiseWithResolvers<BackupList>[]} */
  const looks = []
  const list = () => {
    const look = Promise.withResolvers()
    looks.push(look)
    return look.promise
  }
  return { clock, looks, watch: new BackupWatch({ backups: { list }, clock, patienceMs: 5 }) }
}

test('a place that does not answer in time is told as such, is asked once, and is believed when it does', async () => {
  const { clock, looks, watch } = openWatch()
  const asked = [watch.list(60_000), watch.list(0)]
  clock.advance(7000)
  for (const { problem } of await Promise.all(asked))
    assert.equal(problem, 'no answer for 7 seconds')
  clock.advance(5000)
  assert.equal((await watch.list(60_000)).problem, 'no answer for 12 seconds')
  assert.equal(looks.length, 1)
  looks[0]?.resolve(LIST)
  while ((await watch.list(60_000)) !== LIST) assert.equal(looks.length, 1)
  clock.advance(60_001)
  const [again, shared] = [watch.list(60_000), watch.list(60_000)]
  assert.equal(looks.length, 2)
  const newer = { ...LIST }
  looks[1]?.resolve(newer)
  assert.equal(await again, newer)
  assert.equal(await shared, newer)
})

test('what listing fails with is told to whoever waits, and the next one looks again', async () => {
  const { looks, watch } = openWatch()
  const asked = watch.list(60_000)
  looks[0]?.reject(new Error('no such table'))
  await assert.rejects(asked, /no such table/)
  const again = watch.list(60_000)
  looks[1]?.resolve(LIST)
  assert.equal(await again, LIST)
})

test('a list serves while it is no older than asked for, counted from when it was begun, and leaves no timer', async () => {
  const { clock, looks, watch } = openWatch()
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const asked = watch.list(60_000)
  clock.advance(1000)
  looks[0]?.resolve(LIST)
  assert.equal(await asked, LIST)
  assert.equal(timers(), before)
  clock.advance(59_000)
  assert.equal(await watch.list(60_000), LIST)
  assert.equal(looks.length, 1)
  // A clock that was set back makes no list serve for longer.
  for (const ms of [1, -120_003]) {
    clock.advance(ms)
    const again = watch.list(60_000)
    looks.at(-1)?.resolve(LIST)
    await again
  }
  assert.equal(looks.length, 3)
})

test('a store that accepts and never answers hides nothing else, and has one connection however many ask', async (t) => {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const store = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.resume()
  })
  await once(store.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    store.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (store.address())
  const endpoint = `http://127.0.0.1:${port}`
  const { ask, token, data } = await startAdmin(t, {
    settings: {
      'backup.s3.bucket': 'backups',
      'backup.s3.endpoint': endpoint,
      'backup.s3.isPathStyle': true
    }
  })
  const state = { repositoryId: 'of-this-host', recipient: 'age1' }
  await writeFile(join(data, 'backup.json'), JSON.stringify(state))
  const bearer = await token(['read'])
  const [metrics, health, ...lists] = await Promise.all([
    ask('GET', '/metrics'),
    ask('GET', '/health/deep'),
    ...Array.from({ length: 10 }, () => ask('GET', '/v1/backups', { token: bearer }))
  ])
  assert.match(metrics.text, /^letterlock_backups_unreadable 1$/m)
  assert.match(metrics.text, /^letterlock_accounts 0$/m)
  const { checks } = /** @type {{ checks: { name: string, status: string, text: string }[] }} */ (
    health.body
  )
  const check = checks.find(({ name }) => name === 'backup')
  assert.equal(check?.status, 'fail')
  assert.match(check.text, /cannot be read: no answer for \d+ seconds/)
  assert.equal(checks.length, 10)
  for (const { body } of lists) assert.equal(body.code, 'BACKUP_UNREACHABLE')
  assert.equal(sockets.size, 1)
})
