/**
 * Logins: what they cost, and who is let in.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import { revokeAppPassword } from '../../../src/accounts/app-passwords.js'
import { changePassword } from '../../../src/accounts/change-password.js'
import { Unlocker } from '../../../src/accounts/unlock.js'
import { generateCode } from '../../../src/crypto/generated-code.js'
import { isMailError } from '../../../src/errors.js'
import {
  assertRefused,
  keepBusy,
  logIn,
  makeAccount,
  makeAppPassword,
  openTestAccounts,
  tamper,
  withStore
} from '../../helpers/accounts.js'

/** @typedef {import('../../../src/accounts/services.js').AccountServices} AccountServices */

const STRANGER = '192.0.2.66'

/**
 * @param {AccountServices} services
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>} how many argon2 it cost
 */
async function derivationsOf(services, work) {
  const before = services.argon2.figures.derivations
  await work().catch(() => {})
  return services.argon2.figures.derivations - before
}

test('the right password unlocks the account and its mailbox, by every name of it', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  await services.directory.addAlias(account.id, 'info@example.org')
  for (const username of ['anna@example.org', 'ANNA', 'info', 'anna+x@example.org']) {
    const unlocked = await logIn(services, 'old secret', { username })
    assert.equal(unlocked.account.id, account.id)
    assert.equal(unlocked.scope, 'read-write')
    using masterKey = unlocked.masterKey
    const names = await withStore(services, account, masterKey, async (store) =>
      (await store.listMailboxes()).map(({ name }) => name)
    )
    assert.ok(names.includes('INBOX'))
  }
})

test('an app password unlocks with its scope and without argon2, however it is typed', async (t) => {
  const { services } = await openTestAccounts(t, { 'auth.repeatLoginCache': false })
  const { account } = await makeAccount(services)
  const { text, appPassword } = await makeAppPassword(services, account, { scope: 'read-only' })
  for (const typed of [text, text.toUpperCase(), text.replaceAll('-', ' ')]) {
    const before = services.argon2.figures.derivations
    const unlocked = await logIn(services, typed)
    unlocked.masterKey.dispose()
    assert.equal(unlocked.scope, 'read-only')
    assert.equal(unlocked.credentialId, appPassword.id)
    assert.equal(services.argon2.figures.derivations, before)
  }
})

test('what is wrong is one and the same refusal, whatever the reason', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const expiring = await makeAppPassword(services, account, { expiresAtMs: clock.nowMs() + 1000 })
  const revoked = await makeAppPassword(services, account)
  await revokeAppPassword({ services, account, credentialId: revoked.appPassword.id })
  ;(await logIn(services, expiring.text)).masterKey.dispose()
  clock.advance(1000)
  const other = await makeAccount(services, 'bert@example.org', 'bert secret')
  const foreign = await makeAppPassword(services, other.account, {
    secret: Buffer.from('bert secret')
  })
  const reasons = [
    logIn(services, 'wrong'),
    logIn(services, ''),
    logIn(services, 'old secret', { username: 'nobody' }),
    logIn(services, 'old secret', { username: 'not an address @@' }),
    logIn(services, 'old secret', { username: '' }),
    logIn(services, expiring.text),
    logIn(services, revoked.text),
    logIn(services, foreign.text),
    logIn(services, generateCode('app-password').text),
    logIn(services, generateCode('app-password').text, { username: 'nobody' }),
    logIn(services, recoveryCode)
  ]
  const results = await Promise.allSettled(reasons)
  for (const result of results) {
    assert.equal(result.status, 'rejected')
    const { reason } = /** @type {PromiseRejectedResult} */ (result)
    assert.ok(isMailError(reason, 'AUTHENTICATION_FAILED'))
    assert.equal(reason.message, 'Authentication failed')
    assert.equal(reason.detail, undefined)
  }
})

test('a credential that is changed or revoked while it is checked lets nobody in', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { directory } = services
  /** @param {() => Promise<unknown>} work - done once the secret has been found right */
  const meanwhile = (work) =>
    t.mock.method(
      directory,
      'findCredential',
      async (/** @type {string} */ credentialId) => {
        await work()
        return await directory.findCredential(credentialId)
      },
      { times: 1 }
    )
  const { text, appPassword } = await makeAppPassword(services, account)
  meanwhile(() => revokeAppPassword({ services, account, credentialId: appPassword.id }))
  await assertRefused(logIn(services, text))
  const change = {
    services,
    account,
    oldSecret: Buffer.from('old secret'),
    newPassword: Buffer.from('new secret')
  }
  meanwhile(() => changePassword(change))
  await assertRefused(logIn(services, 'old secret'))
  // Nor is it remembered as having been right.
  await assertRefused(logIn(services, 'old secret'))
  ;(await logIn(services, 'new secret')).masterKey.dispose()
})

test('every attempt costs one argon2, account known or not; the shape of an app password none', async (t) => {
  const { services } = await openTestAccounts(t, { 'auth.repeatLoginCache': false })
  const { account, recoveryCode } = await makeAccount(services)
  const app = await makeAppPassword(services, account)
  const recovery = generateCode('recovery').text
  const almost = app.text.slice(0, -1)
  const unknown = { username: 'nobody' }
  /** @type {[number, () => Promise<unknown>][]} */
  const table = [
    [1, () => logIn(services, 'old secret')],
    [1, () => logIn(services, 'wrong')],
    [1, () => logIn(services, '')],
    [1, () => logIn(services, almost)],
    [1, () => logIn(services, recoveryCode)],
    [1, () => logIn(services, recovery)],
    [1, () => logIn(services, 'wrong', unknown)],
    [1, () => logIn(services, recovery, unknown)],
    [1, () => logIn(services, 'wrong', { username: 'not an address @@' })],
    [0, () => logIn(services, app.text)],
    [0, () => logIn(services, generateCode('app-password').text)],
    [0, () => logIn(services, app.text, unknown)]
  ]
  for (const [count, attempt] of table) assert.equal(await derivationsOf(services, attempt), count)
})

test('older parameters still open, are raised behind the good login, and cost one argon2 of today', async (t) => {
  const { services: old, open } = await openTestAccounts(t)
  const { account } = await makeAccount(old)
  await old.close()
  const services = await open({ 'auth.argon2.passes': 3, 'auth.repeatLoginCache': false })
  // Of today and of then, side by side: who is not raised yet is not told apart by a shorter time.
  assert.equal(await derivationsOf(services, () => logIn(services, 'wrong')), 2)
  const before = await services.directory.findSingleCredential(account.id, 'password')
  assert.equal(before?.argon2?.passes, 2)

  ;(await logIn(services, 'old secret')).masterKey.dispose()
  await services.unlocker.close()
  const raised = await services.directory.findSingleCredential(account.id, 'password')
  assert.equal(raised?.argon2?.passes, 3)
  assert.equal(raised?.version, before?.version, 'live sessions go on')
  assert.equal(await derivationsOf(services, () => logIn(services, 'wrong')), 1)
  assert.equal(await derivationsOf(services, () => logIn(services, 'old secret')), 1)
  await assertRefused(logIn(services, 'wrong'))
})

test('logins with the right password that come together cost one argon2, wrong ones and unknown names one each', async (t) => {
  const { services } = await openTestAccounts(t)
  await makeAccount(services)
  const together = (/** @type {string} */ password, options = {}) =>
    derivationsOf(services, async () => {
      const logins = Array.from({ length: 5 }, () => logIn(services, password, options))
      for (const result of await Promise.allSettled(logins)) {
        if (result.status === 'fulfilled') result.value.masterKey.dispose()
      }
    })
  assert.equal(await together('wrong'), 5)
  assert.equal(await together('wrong', { username: 'nobody' }), 5)
  assert.equal(await together('old secret'), 1)
  const five = await Promise.all(Array.from({ length: 5 }, () => logIn(services, 'old secret')))
  const keys = five.map(({ masterKey }) => Buffer.from(masterKey.bytes).toString('hex'))
  assert.equal(new Set(keys).size, 1)
  five[0]?.masterKey.dispose()
  assert.equal(
    five.slice(1).some(({ masterKey }) => masterKey.isDisposed),
    false
  )
  for (const { masterKey } of five.slice(1)) masterKey.dispose()
})

test('each login is the last use of its credential, a repeat one too', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  await makeAccount(services)
  const before = services.argon2.figures.derivations
  for (let login = 0; login < 3; login++) {
    clock.advance(60_000)
    const { masterKey, credentialId } = await logIn(services, 'old secret')
    masterKey.dispose()
    await services.directory.flush()
    const credential = await services.directory.findCredential(credentialId)
    assert.equal(credential?.lastUsedAtMs, clock.nowMs())
  }
  assert.equal(services.argon2.figures.derivations, before + 1, 'repeats')
})

test('a repeat login costs no argon2 until the mailbox is locked', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const first = await logIn(services, 'old secret')
  const repeat = async () => {
    const unlocked = await logIn(services, 'old secret')
    assert.deepEqual(unlocked.masterKey.bytes, first.masterKey.bytes)
    assert.equal(unlocked.credentialId, first.credentialId)
    unlocked.masterKey.dispose()
  }
  assert.equal(await derivationsOf(services, repeat), 0)
  assert.equal(await derivationsOf(services, repeat), 0)
  assert.equal(await derivationsOf(services, () => logIn(services, 'wrong')), 1)
  services.unlocker.forget(account.id)
  assert.equal(await derivationsOf(services, repeat), 1)
})

/** @type {[string, string][]} */
const ROW_CHANGES = [
  ['version', 'UPDATE credentials SET version = version + 1'],
  ['scope', "UPDATE credentials SET scope = 'read-only'"],
  ['expiry', 'UPDATE credentials SET expires_at_ms = 9e15'],
  ['absence', 'DELETE FROM credentials'],
  ['key epoch', 'UPDATE accounts SET key_epoch = 9'],
  ['public key', "UPDATE account_seals SET public_key = x'00'"]
]
for (const [name, sql] of ROW_CHANGES) {
  test(`a repeat login is not recognised once the directory says another ${name}`, async (t) => {
    const { services, data } = await openTestAccounts(t)
    await makeAccount(services)
    ;(await logIn(services, 'old secret')).masterKey.dispose()
    tamper(data, sql)
    assert.equal(await derivationsOf(services, () => logIn(services, 'old secret')), 1)
  })
}

test('an expired credential is not recognised as a repeat, nor is a disabled account', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const app = await makeAppPassword(services, account, { expiresAtMs: clock.nowMs() + 1000 })
  ;(await logIn(services, app.text)).masterKey.dispose()
  clock.advance(1000)
  await assertRefused(logIn(services, app.text))
  ;(await logIn(services, 'old secret')).masterKey.dispose()
  await services.directory.updateAccount(account.id, { isEnabled: false })
  await assertRefused(logIn(services, 'old secret'), 'ACCOUNT_DISABLED')
  await assertRefused(logIn(services, 'wrong'))
})

test('guessing is slowed down, and a repeat login is not', async (t) => {
  const { services } = await openTestAccounts(t)
  await makeAccount(services)
  ;(await logIn(services, 'old secret', { remoteAddress: STRANGER })).masterKey.dispose()
  for (let index = 0; index < 10; index++) {
    const username = `guess${index}`
    await assertRefused(logIn(services, `guess ${index}`, { username, remoteAddress: STRANGER }))
  }
  const held = () => logIn(services, 'guess', { username: 'bert', remoteAddress: STRANGER })
  assert.equal(await derivationsOf(services, held), 0)
  await assertRefused(held(), 'THROTTLED')
  ;(await logIn(services, 'old secret', { remoteAddress: STRANGER })).masterKey.dispose()
})

test('guesses at a name wait before each is checked, and an address that is held before it is refused', async (t) => {
  const { services } = await openTestAccounts(t)
  await makeAccount(services)
  const { argon2, config } = services
  /** @type {number[]} ms, and how many derivations there were by then */
  const waits = []
  const sleep = async (/** @type {number} */ ms) => {
    waits.push(ms, argon2.figures.derivations)
  }
  const { defaultDomain } = config
  const unlocker = new Unlocker({ ...services, repeatLogins: null, defaultDomain, sleep })
  const guess = (/** @type {number} */ number) =>
    logIn({ ...services, unlocker }, `guess ${number}`, { remoteAddress: STRANGER })
  for (const number of [1, 2, 3, 4, 5]) await assertRefused(guess(number))
  assert.deepEqual(waits, [])
  const before = argon2.figures.derivations
  await assertRefused(guess(6))
  assert.deepEqual(waits.splice(0), [250, before])
  assert.equal(argon2.figures.derivations, before + 1)
  for (const number of [7, 8, 9, 10]) await assertRefused(guess(number))
  waits.length = 0
  await assertRefused(guess(11), 'THROTTLED')
  assert.equal(waits.pop(), argon2.figures.derivations)
  const ms = waits.pop() ?? 0
  assert.ok(ms >= 1500 && ms < 4500, `${ms}`)
})

test('of equal logins the first goes before it is checked: the next is checked for all, and nothing counts as a failure', async (t) => {
  const { services } = await openTestAccounts(t, { 'auth.concurrency': 1 })
  await makeAccount(services)
  const { argon2 } = services
  const busy = keepBusy(argon2)
  const client = new AbortController()
  const asker = { isClosed: false, closeSignal: client.signal }
  const options = { remoteAddress: STRANGER }
  const gone = assert.rejects(logIn(services, 'old secret', { ...options, asker }), {
    message: 'gone'
  })
  await busy.untilJoined(1)
  const others = [1, 2, 3].map(() => logIn(services, 'old secret', options))
  client.abort(new Error('gone'))
  await gone
  for (const { masterKey } of await Promise.all(others)) masterKey.dispose()
  assert.equal(await busy.end(), 1, 'derivations')
  const actions = (await services.directory.pageAudit({ limit: 100 })).map(({ action }) => action)
  assert.equal(actions.includes('login-failed'), false, actions.join())
})

test('an office whose people all log in at once, as after a restart, is let in', async (t) => {
  const { services } = await openTestAccounts(t, { 'auth.queueLength': 12 })
  const names = Array.from({ length: 25 }, (_, nth) => `person${nth}`)
  for (const name of names) await makeAccount(services, `${name}@example.org`)
  const logins = names.map((username) =>
    logIn(services, 'old secret', { username, remoteAddress: STRANGER })
  )
  for (const { masterKey } of await Promise.all(logins)) masterKey.dispose()
})

test('from an address that is held the password of an open mailbox is not tried out', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  await makeAccount(services)
  const OWN = '198.51.100.7'
  ;(await logIn(services, 'old secret', { remoteAddress: OWN })).masterKey.dispose()
  for (let index = 0; index < 10; index++) {
    const username = `guess${index}`
    await assertRefused(logIn(services, `guess ${index}`, { username, remoteAddress: STRANGER }))
  }
  for (const typed of ['wrong', 'old secret']) {
    await assertRefused(logIn(services, typed, { remoteAddress: STRANGER }), 'THROTTLED')
  }
  ;(await logIn(services, 'old secret', { remoteAddress: OWN })).masterKey.dispose()
  clock.advance(60_000)
  const again = () => logIn(services, 'old secret', { remoteAddress: STRANGER })
  assert.equal(await derivationsOf(services, again), 0, 'recognised once it may ask')
})

test('no login, good or wrong, waits for the directory to write: what it leaves is written later', async (t) => {
  const { services, data } = await openTestAccounts(t)
  await makeAccount(services)
  await services.directory.flush()
  const writer = new Database(join(data, 'directory.db'))
  t.after(() => writer.close())
  // Nobody else can write until this ends.
  writer.exec('BEGIN IMMEDIATE')
  ;(await logIn(services, 'old secret')).masterKey.dispose()
  await assertRefused(logIn(services, 'wrong'))
  ;(await logIn(services, 'old secret')).masterKey.dispose()
  assert.equal(writer.inTransaction, true)
  const before = await services.directory.pageAudit({ limit: 100 })
  const flushed = services.directory.flush()
  writer.exec('ROLLBACK')
  await flushed
  const actions = (await services.directory.pageAudit({ limit: 100 }))
    .slice(0, -before.length || undefined)
    .map(({ action }) => action)
  assert.deepEqual(actions, ['login-failed', 'login'])
})
