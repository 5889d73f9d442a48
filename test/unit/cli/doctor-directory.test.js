/**
 * What `letterlock doctor` says of the directory, and of the pepper that its passwords need.
 */
import assert from 'node:assert/strict'
import { openSync, closeSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import { changePassword } from '../../../src/accounts/change-password.js'
import { recordDamage } from '../../../src/accounts/damage.js'
import { checkDirectory } from '../../../src/cli/doctor/directory.js'
import { checkPepper } from '../../../src/cli/doctor/pepper.js'
import { makeAccount, openTestAccounts, tamper } from '../../helpers/accounts.js'
import { letterlock } from '../../helpers/process.js'

/**
 * @param {string} path
 * @param {string} table - whose first page the disk gives back otherwise than it was written
 */
function damage(path, table) {
  const db = new Database(path)
  db.pragma('wal_checkpoint(TRUNCATE)')
  const page = db.prepare('SELECT min(pageno) FROM dbstat WHERE name = ?').pluck().get(table)
  db.close()
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, (Number(page) - 1) * 4096)
  closeSync(file)
}

// One that the start reads, and one that it does not.
for (const table of ['credentials', 'audit']) {
  test(`a damaged page of the directory is a finding with advice: ${table}`, async (t) => {
    const { services, data } = await openTestAccounts(t)
    await makeAccount(services)
    await services.close()
    damage(join(data, 'directory.db'), table)
    const { code, stdout, stderr } = await letterlock(['doctor', '--data', data])
    assert.equal(code, 1)
    assert.match(
      stdout,
      /^fail {2}directory: The directory is damaged: .*\n +→ .*The directory alone/m
    )
    assert.equal(stderr, '')
  })
}

test('keys that contradict each other or are missing, and mailboxes on record as damaged are named by address', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const look = async () =>
    (await checkDirectory({ services })).findings.map(({ name, status, text }) => [
      name,
      status,
      text
    ])
  assert.deepEqual(await look(), [['directory', 'ok', 'SQLite finds nothing wrong with it']])
  tamper(data, "UPDATE account_seals SET recipient = recipient || 'q'")
  tamper(data, 'DELETE FROM credentials')
  recordDamage(services, account.id)
  await services.directory.flush()
  assert.deepEqual(await look(), [
    [
      'directory',
      'fail',
      `1 account has keys that contradict each other, first ${account.address}: no mail is taken for it`
    ],
    [
      'directory',
      'fail',
      `1 account has no credential, first ${account.address}: nobody can log in`
    ],
    ['mailboxes', 'fail', `1 mailbox was found damaged, first ${account.address}`]
  ])
})

test('a mailbox on record as damaged is named, however many jobs of others have failed more often', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { account: other } = await makeAccount(services, 'bert@example.org')
  const state = { doneAtMs: 0, failures: 2, failedCode: 'DISK_FULL', nextTryAtMs: 0 }
  for (let nth = 0; nth < 101; nth++)
    services.directory.recordMaintenance({
      accountId: other.id,
      job: `job ${nth}`,
      state,
      run: null
    })
  recordDamage(services, account.id)
  await services.directory.flush()
  const { findings } = await checkDirectory({ services })
  assert.deepEqual(
    findings.map(({ text }) => text),
    ['SQLite finds nothing wrong with it', `1 mailbox was found damaged, first ${account.address}`]
  )
})

test('passwords of a lost pepper are told, and its setting where it is needed no longer', async (t) => {
  const { services: before, data, open } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(before)
  await makeAccount(before, 'bert@example.org')
  const isLost = { 'auth.isPepperLost': true }
  const look = async (/** @type {typeof before} */ services) =>
    (await checkPepper({ services })).map(({ status, text }) => `${status} ${text}`)
  const left = `warn There are passwords that need another pepper than ${join(data, 'pepper')} holds: they open nothing`
  const setting =
    'warn auth.isPepperLost is set: where the pepper is not mounted once, another one is made'
  assert.deepEqual(await look(before), [])
  assert.deepEqual(await look(await open(isLost)), [setting])
  await before.close()
  rmSync(join(data, 'pepper'))
  const services = await open(isLost)
  assert.deepEqual(await look(services), [left])
  const [oldSecret, newPassword] = [Buffer.from(recoveryCode), Buffer.from('new secret')]
  await changePassword({ services, account, oldSecret, newPassword })
  assert.deepEqual(await look(services), [left, setting])
  assert.deepEqual(await look(await open()), [left])
})
