import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3-multiple-ciphers'
import { generate } from 'selfsigned'
import { createAdmin } from '../../../src/admin/create.js'
import {
  checkBackup,
  checkCertificate,
  checkDisk,
  checkEventLoop,
  checkIntegrity,
  checkMaintenance,
  checkSetAside,
  checkSpool,
  checkWal,
  DIRECTORY_DAMAGED,
  keysContradict,
  worstOf
} from '../../../src/admin/health.js'
import { noResults } from '../../../src/backup/last-results.js'
import { loadCertificate } from '../../../src/support/certificate.js'
import { systemClock } from '../../../src/support/clock.js'
import { startAdmin } from '../../helpers/admin.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW_MS = 1000 * DAY_MS

/** @type {import('../../../src/admin/survey.js').Survey} */
const WELL = {
  atMs: NOW_MS,
  freeBytes: 50e9,
  totalBytes: 100e9,
  diskTrouble: null,
  freeFiles: 5e6,
  totalFiles: 6e6,
  spoolFiles: 0,
  spoolBytes: 0,
  oldestSpoolMs: null,
  oldestOpenSpoolMs: null,
  setAside: 0,
  walBytes: 0,
  largestWalBytes: 0,
  directoryWalBytes: 0,
  mailboxes: 3,
  misshapen: 0,
  misshapenIds: [],
  unreadable: 0,
  unreadableIds: [],
  damaged: 0,
  damagedIds: []
}

/**
 * @param {number} ageMs
 * @param {number | null} [failed]
 */
const backups = (ageMs, failed = 0) => ({
  isSetUp: true,
  problem: null,
  isReached: true,
  notMade: null,
  results: noResults(),
  overdueAtMs: NOW_MS - ageMs + 30 * HOUR_MS,
  generations: [
    {
      name: 'x',
      startedAtMs: NOW_MS - ageMs,
      accounts: 3,
      failed,
      newBytes: 0,
      sharedBytes: 0,
      storedBytes: 0,
      durationMs: 0
    }
  ]
})

/**
 * @param {import('../../../src/backup/last-results.js').LastResults['failures']} failures
 * @param {{ id: string, code: string }[]} [damaged]
 */
const afterwards = (failures, damaged = []) => ({
  ...backups(HOUR_MS),
  results: { failures, damaged }
})

test('each check has its ok, warn and fail, and says why', () => {
  const wait = (/** @type {number} */ ms, /** @type {number | null} */ openMs = null) =>
    checkSpool(
      {
        ...WELL,
        spoolFiles: 2,
        oldestSpoolMs: NOW_MS - ms,
        oldestOpenSpoolMs: openMs === null ? null : NOW_MS - openMs
      },
      NOW_MS
    )
  const loop = (/** @type {number} */ eventLoopP99Ms) =>
    checkEventLoop({ sums: {}, maxima: { eventLoopP99Ms, eventLoopMaxMs: eventLoopP99Ms } })
  const ending = (/** @type {number} */ ms) =>
    checkCertificate([{ name: 'a.test', endMs: NOW_MS + ms }], NOW_MS)
  const failing = (/** @type {number[]} */ counts) =>
    checkMaintenance({
      failing: counts.map((failures) => ({ failures })),
      failingTotal: counts.length
    })
  /** @type {[import('../../../src/admin/health.js').Check, string, RegExp][]} */
  const table = [
    [checkDisk(WELL), 'ok', /50\.0 GB .*50/],
    [checkDisk({ ...WELL, freeBytes: 5e9 }), 'warn', /make room/],
    [checkDisk({ ...WELL, freeBytes: 1e9 }), 'fail', /make room/],
    [checkDisk({ ...WELL, diskTrouble: 'EROFS' }), 'fail', /EROFS.*read-only/],
    [checkDisk({ ...WELL, freeFiles: 5e5 }), 'warn', /, and 500000 more files \(8\u00a0%\): make/],
    [checkDisk({ ...WELL, freeFiles: 9 }), 'fail', /, and 9 more files \(0\u00a0%\): make room/],
    // Of some file systems nobody can say how many files they take.
    [checkDisk({ ...WELL, freeFiles: 0, totalFiles: 0 }), 'ok', /are free/],
    [wait(HOUR_MS), 'ok', /60 minutes/],
    [wait(40 * DAY_MS), 'warn', /40 days/],
    [wait(DAY_MS, 10_000), 'ok', /24 hours/],
    [wait(DAY_MS, HOUR_MS), 'fail', /open mailbox/],
    [checkSpool(WELL, NOW_MS), 'ok', /No mail/],
    [checkSetAside(WELL), 'ok', /opened/],
    [checkSetAside({ ...WELL, setAside: 2 }), 'warn', /2 sealed/],
    [checkBackup(backups(HOUR_MS), NOW_MS), 'ok', /60 minutes/],
    [checkBackup(backups(HOUR_MS, 2), NOW_MS), 'warn', /2 accounts/],
    [checkBackup(backups(HOUR_MS, null), NOW_MS), 'warn', /no record/],
    [checkBackup(backups(31 * HOUR_MS), NOW_MS), 'warn', /31 hours/],
    [checkBackup(backups(4 * DAY_MS), NOW_MS), 'fail', /4 days/],
    [
      checkBackup(afterwards({ prune: { code: 'BACKUP_UNREACHABLE' } }), NOW_MS),
      'warn',
      /last prune/
    ],
    [
      checkBackup(
        afterwards({ rehearsal: { code: 'BACKUP_DAMAGED', detail: 'x.age is missing' } }),
        NOW_MS
      ),
      'fail',
      /last rehearsal failed: BACKUP_DAMAGED \(x\.age is missing\)/
    ],
    [
      checkBackup(afterwards({}, [{ id: 'e12b', code: 'BACKUP_DAMAGED' }]), NOW_MS),
      'fail',
      /1 account could not be restored in a rehearsal, first e12b/
    ],
    [checkBackup({ ...backups(0), notMade: 'another host' }, NOW_MS), 'fail', /another host/],
    [checkBackup({ ...backups(0), generations: [] }, NOW_MS), 'warn', /none/],
    [checkBackup({ ...backups(0), isSetUp: false }, NOW_MS), 'warn', /backup init/],
    [checkBackup({ ...backups(0), problem: 'lost' }, NOW_MS), 'fail', /not as they .* be: lost$/],
    [
      checkBackup({ ...backups(0), problem: 'gone', isReached: false }, NOW_MS),
      'fail',
      /cannot be read: gone$/
    ],
    [ending(90 * DAY_MS), 'ok', /a\.test ends in 90 days/],
    [ending(20 * DAY_MS), 'warn', /a\.test ends in 20 days: renew/],
    [ending(-3 * HOUR_MS), 'fail', /a\.test ended 3 hours ago/],
    [checkWal(WELL), 'ok', /0 B/],
    [checkWal({ ...WELL, largestWalBytes: 100e6 }), 'warn', /100\.0 MB/],
    [checkWal({ ...WELL, directoryWalBytes: 2e9 }), 'fail', /2\.0 GB/],
    [failing([]), 'ok', /No job/],
    [failing([1, 2]), 'warn', /2 jobs/],
    [failing([3]), 'fail', /3 times/],
    [checkIntegrity(WELL), 'ok', /3 mailboxes/],
    [DIRECTORY_DAMAGED, 'fail', /directory/],
    [keysContradict(['ab', 'cd']), 'fail', /2 accounts .*, first ab: /],
    [checkIntegrity({ ...WELL, misshapen: 1, misshapenIds: ['ab'] }), 'fail', /ab/],
    [checkIntegrity({ ...WELL, damaged: 1, damagedIds: ['d1'] }), 'fail', /damaged, first d1/],
    [checkIntegrity({ ...WELL, unreadable: 1, unreadableIds: ['u1'] }), 'fail', /first u1/],
    [loop(3), 'ok', /3\.0 ms/],
    [loop(300), 'warn', /300/],
    [loop(3000), 'fail', /3000/]
  ]
  for (const [check, status, text] of table) {
    assert.equal(check.status, status, check.text)
    assert.match(check.text, text)
  }
  assert.equal(worstOf([loop(3), loop(300)]), 'warn')
  assert.equal(worstOf([loop(300), loop(3000)]), 'fail')
  assert.equal(worstOf([]), 'ok')
})

test('metrics have what was done: commands with their times, logins, sessions; in the text that Prometheus reads', async (t) => {
  const { ask, port } = await startAdmin(t, { users: ['anna'] })
  const value = async (/** @type {string} */ line) => {
    const { text } = await ask('GET', '/metrics')
    const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `))
    return found === undefined ? 0 : Number(found.slice(line.length))
  }
  const noops = 'letterlock_commands_total{command="NOOP",result="ok"}'
  const timed = 'letterlock_command_duration_seconds_count{command="NOOP"}'
  const refused = 'letterlock_logins_total{outcome="refused"}'
  const commits = 'letterlock_sync_commits_sum'
  const before = await Promise.all([noops, timed, refused, commits].map(value))
  const client = await WireClient.connect(port)
  t.after(() => client.destroy())
  await client.command('LOGIN anna wrong')
  await client.login('anna', `"${PASSWORD}"`)
  for (let index = 0; index < 3; index++) await client.command('NOOP')
  await client.command('CREATE Box')
  const after = await Promise.all([noops, timed, refused, commits].map(value))
  const grown = after.map((now, index) => now - (before[index] ?? 0))
  assert.deepEqual(grown.slice(0, 3), [3, 3, 1])
  assert.ok((grown[3] ?? 0) >= 1)
  assert.equal(await value('letterlock_sessions'), 1)
  assert.equal(await value('letterlock_mailboxes_open'), 1)
  assert.equal(await value('letterlock_accounts'), 1)
  const { text, headers } = await ask('GET', '/metrics')
  assert.match(String(headers['content-type']), /^text\/plain/)
  for (const line of text.split('\n').filter((candidate) => candidate !== '')) {
    assert.match(
      line,
      /^(# (HELP|TYPE) letterlock_\w+ .+|letterlock_\w+(\{[^}]*\})? [-+\d.e]+|letterlock_\w+(\{[^}]*\})? [+-]Inf)$/
    )
  }
})

test('the deep check gathers all of it; a failure answers 503', async (t) => {
  const { ask, addAccount } = await startAdmin(t)
  const account = await addAccount('anna@example.org')
  const well = await ask('GET', '/health/deep')
  assert.equal(well.body.checks.length, 10)
  // How late the event loop of a busy machine is, and how full its disk, is not the server's doing.
  const failing = well.body.checks.filter((/** @type {any} */ { status }) => status === 'fail')
  const names = failing.map((/** @type {any} */ { name }) => name)
  const ownDoing = (/** @type {string} */ name) => !['event-loop', 'disk'].includes(name)
  assert.deepEqual(names.filter(ownDoing), [])
  assert.equal(well.status, names.length === 0 ? 200 : 503)
  assert.ok(account.id)
})

test('a folder that cannot be looked at hides nothing of the others, and is named', async (t) => {
  const { ask, addAccount } = await startAdmin(t)
  const anna = await addAccount('anna@example.org')
  const ben = await addAccount('ben@example.org')
  await rm(join(anna.folder, 'spool'), { recursive: true, force: true })
  await writeFile(join(anna.folder, 'spool'), 'no folder')
  await mkdir(join(ben.folder, 'spool'), { recursive: true })
  await writeFile(join(ben.folder, 'spool', 'a.sealed'), 'x')
  const { status, body } = await ask('GET', '/health/deep')
  assert.equal(status, 503)
  const textOf = (/** @type {string} */ wanted) =>
    body.checks.find((/** @type {any} */ { name }) => name === wanted).text
  assert.match(
    textOf('integrity'),
    new RegExp(`^1 mailbox has a folder that cannot be looked at, first ${anna.id}`)
  )
  assert.match(textOf('spool'), /^1 message waits/)
  const metrics = await ask('GET', '/metrics')
  assert.equal(metrics.status, 200)
  assert.match(metrics.text, /^letterlock_spool_messages 1$/m)
})

test('a damaged directory is told as such, beside what else is known', async (t) => {
  const { ask, addAccount, services, data } = await startAdmin(t)
  await addAccount('anna@example.org')
  await services.directory.flush()
  const path = join(data, 'directory.db')
  const db = new Database(path)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  const file = await open(path, 'r+')
  const { size } = await file.stat()
  for (let at = 2 * 4096; at < size; at += 4096)
    await file.write(Buffer.alloc(4096, 0x55), 0, 4096, at)
  await file.close()
  const { status, body } = await ask('GET', '/health/deep')
  assert.equal(status, 503)
  const checks = new Map(body.checks.map((/** @type {any} */ { name, ...check }) => [name, check]))
  assert.match(checks.get('integrity').text, /The directory is damaged/)
  assert.match(checks.get('event-loop').text, /^99 of 100 turns/)
})

test('mail that waits although another worker has its mailbox open is seen, too', async (t) => {
  const { services, imap, openAccounts, data } = await startImapServer(t, { users: ['anna'] })
  const account = await services.directory.findByAddress('anna@example.org')
  assert.ok(account)
  const spool = join(account.folder, 'spool')
  await mkdir(spool, { recursive: true })
  await writeFile(join(spool, 'a.sealed'), 'x')
  /** @type {PromiseWithResolvers<unknown>} */
  const asked = Promise.withResolvers()
  const admin = await createAdmin({
    services,
    imap,
    openAccounts,
    maintenance: { figures: /** @type {any} */ ({}) },
    certificates: await certificatesIn(data),
    pressure: { figures: { refusing: 0, refused: 0 } },
    isReady: () => true,
    askAllWorkers: async (kind, argument) => {
      if (kind === 'openOf') asked.resolve(argument)
      return [await admin.answers[kind]?.(argument)]
    }
  })
  t.after(() => admin.close())
  await admin.listen({ host: '127.0.0.1', port: 0 })
  assert.deepEqual(await asked.promise, [account.id])
  assert.deepEqual(admin.answers['openOf']?.([account.id]), [])
  const { release } = await openAccounts.acquire(
    await services.unlocker.unlock({
      username: 'anna',
      password: Buffer.from(PASSWORD),
      remoteAddress: null
    })
  )
  assert.deepEqual(admin.answers['openOf']?.([account.id, 'another']), [account.id])
  await release()
})

test('what maintenance does is told of all workers, whichever answers', async (t) => {
  const { services, imap, openAccounts, data } = await startImapServer(t)
  const figures = /** @type {any} */ ({ maintenanceRunning: 1, maintenanceDone: 3 })
  const admin = await createAdmin({
    services,
    imap,
    openAccounts,
    maintenance: { figures },
    certificates: await certificatesIn(data),
    pressure: { figures: { refusing: 0, refused: 0 } },
    isReady: () => true,
    askAllWorkers: async (kind, argument) => {
      const own = /** @type {object} */ (await admin.answers[kind]?.(argument))
      return kind === 'snapshot' ? [own, { ...own, slot: 1 }] : [own]
    }
  })
  t.after(() => admin.close())
  for (const url of ['/health/ready', '/health/maintenance']) {
    const { maintenanceRunning, maintenanceDone } = (await admin.app.inject(url)).json()
    assert.deepEqual(
      { maintenanceRunning, maintenanceDone },
      { maintenanceRunning: 2, maintenanceDone: 6 }
    )
  }
})

/** @param {string} data - the folder */
async function certificatesIn(data) {
  const folder = join(data, 'tls-other')
  const options = { folder, certificateFile: '', keyFile: '', clock: systemClock }
  return { main: await loadCertificate(options), others: [] }
}

test('a certificate that has ended fails, until another one takes its place', async (t) => {
  const { ask, admin, data } = await startAdmin(t)
  const certificateIn = async () => {
    const { body } = await ask('GET', '/health/deep')
    return body.checks.find((/** @type {any} */ { name }) => name === 'certificate')
  }
  const nowMs = systemClock.nowMs()
  assert.equal((await certificateIn()).status, 'ok')
  const ended = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    notBeforeDate: new Date(nowMs - 2 * DAY_MS),
    notAfterDate: new Date(nowMs - DAY_MS)
  })
  const good = await certificatesIn(data)
  const other = {
    names: ['a.test'],
    cert: Buffer.from(ended.cert),
    key: Buffer.from(ended.private)
  }
  admin.replaceCertificates({ ...good, others: [other] })
  assert.match((await certificateIn()).text, /localhost ended .*refuse it/)
  assert.equal((await ask('GET', '/health/deep')).status, 503)
  const { text } = await ask('GET', '/metrics')
  const endMs =
    1000 * Number(/^letterlock_certificate_end_timestamp_seconds (\d+)$/m.exec(text)?.[1])
  assert.ok(endMs > 0 && endMs < nowMs, `${endMs}`)
  admin.replaceCertificates(good)
  assert.equal((await certificateIn()).status, 'ok')
})
