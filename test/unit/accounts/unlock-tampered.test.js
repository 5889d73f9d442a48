/**
 * Logins where somebody, or a disk, has changed what the directory holds, or parts of it are lost.
 */
import assert from 'node:assert/strict'
import { chmod, cp, rm, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { changePassword } from '../../../src/accounts/change-password.js'
import { deleteAccount } from '../../../src/accounts/remove-account.js'
import { generateSealIdentity } from '../../../src/crypto/age.js'
import {
  assertRefused,
  logIn,
  makeAccount,
  makeAppPassword,
  openTestAccounts,
  tamper,
  withStore
} from '../../helpers/accounts.js'

/** @typedef {import('../../../src/accounts/services.js').AccountServices} AccountServices */

/** @type {[string, string][]} */
const TAMPERINGS = [
  ['scope', "UPDATE credentials SET scope = 'read-only' WHERE kind = $kind"],
  ['expiry', 'UPDATE credentials SET expires_at_ms = 9007199254740000 WHERE kind = $kind'],
  ['version', 'UPDATE credentials SET version = 7 WHERE kind = $kind'],
  ['key epoch', 'UPDATE credentials SET key_epoch = 7 WHERE kind = $kind'],
  ['id', "UPDATE credentials SET id = '0000000000000000' WHERE kind = $kind"],
  ['wrapped key', 'UPDATE credentials SET wrapped_key = zeroblob(61) WHERE kind = $kind']
]
for (const kind of ['password', 'app-password']) {
  for (const [name, sql] of TAMPERINGS) {
    test(`a row of kind ${kind} with another ${name} is refused, with an alarm`, async (t) => {
      const { services, data, lines } = await openTestAccounts(t)
      const { account, password } = await makeAccount(services)
      const app = await makeAppPassword(services, account)
      tamper(data, sql.replace('$kind', `'${kind}'`))
      const typed = kind === 'password' ? password : app.text
      await assertRefused(logIn(services, typed), 'ACCOUNT_DAMAGED')
      assert.ok(lines.some(({ level, msg }) => level === 'error' && /alarm/.test(String(msg))))
      await services.directory.flush()
      const [alarm] = await services.directory.pageAudit({ accountId: account.id, limit: 1 })
      assert.equal(alarm?.action, 'key-alarm')
    })
  }
}

test('a row with other or weaker argon2 parameters is refused', async (t) => {
  for (const [sql, code] of /** @type {const} */ ([
    ['UPDATE credentials SET argon2_memory_kib = 20000', 'AUTHENTICATION_FAILED'],
    ['UPDATE credentials SET argon2_passes = 3', 'AUTHENTICATION_FAILED'],
    ['UPDATE credentials SET argon2_memory_kib = 8', 'ACCOUNT_DAMAGED'],
    ['UPDATE credentials SET argon2_memory_kib = NULL', 'ACCOUNT_DAMAGED'],
    ["UPDATE credentials SET pepper_id = '0000000000000000'", 'PEPPER_MISSING']
  ])) {
    const { services, data } = await openTestAccounts(t)
    await makeAccount(services)
    tamper(data, `${sql} WHERE kind = 'password'`)
    await assertRefused(logIn(services, 'old secret'), code)
  }
})

test('a changed commitment refuses, and is no oracle for the wrap', async (t) => {
  const { services, data } = await openTestAccounts(t)
  await makeAccount(services)
  tamper(data, 'UPDATE credentials SET commitment = zeroblob(32)')
  await assertRefused(logIn(services, 'old secret'))
})

test('credentials copied from an account of one’s own open nothing of another', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const anna = await makeAccount(services)
  const mallory = await makeAccount(services, 'mallory@example.org', 'mallory secret')
  tamper(data, "DELETE FROM credentials WHERE account_id = ? AND kind = 'password'", [
    anna.account.id
  ])
  tamper(data, "UPDATE credentials SET account_id = ? WHERE account_id = ? AND kind = 'password'", [
    anna.account.id,
    mallory.account.id
  ])
  await assertRefused(logIn(services, 'mallory secret'), 'ACCOUNT_DAMAGED')
})

test('a mailbox beside the directory of another account does not open', async (t) => {
  const { services } = await openTestAccounts(t)
  const anna = await makeAccount(services)
  const mallory = await makeAccount(services, 'mallory@example.org', 'mallory secret')
  const { masterKey } = await logIn(services, 'mallory secret', { username: 'mallory' })
  await rm(mallory.account.folder, { recursive: true })
  await cp(anna.account.folder, mallory.account.folder, { recursive: true })
  await assertRefused(
    withStore(services, mallory.account, masterKey, async () => {}),
    'KEY_REJECTED'
  )
  masterKey.dispose()
})

test('a stolen copy without its pepper opens nothing, with the right password neither', async (t) => {
  const { services, data, open } = await openTestAccounts(t)
  await makeAccount(services)
  await services.close()
  const stolen = `${data}-stolen`
  t.after(() => rm(stolen, { recursive: true, force: true }))
  await cp(data, stolen, { recursive: true })
  await rm(join(stolen, 'pepper'))
  await assertRefused(open({ data: stolen }), 'PEPPER_MISSING')
  await writeFile(join(stolen, 'pepper'), randomBytes(32), { mode: 0o600 })
  await chmod(join(stolen, 'pepper'), 0o600)
  await assertRefused(open({ data: stolen }), 'PEPPER_MISSING')
})

test('where the pepper is lost app passwords still open, and recovery codes set new passwords', async (t) => {
  const { services, data, lines, open } = await openTestAccounts(t)
  const { account, recoveryCode, password } = await makeAccount(services)
  const app = await createAppPassword({
    services,
    account,
    secret: Buffer.from(password),
    label: 'phone'
  })
  await services.close()
  await rm(join(data, 'pepper'))
  await assertRefused(open(), 'PEPPER_MISSING')
  const without = await open({ 'auth.isPepperLost': true })
  ;(await logIn(without, app.text)).masterKey.dispose()
  // Programs try again all day, and strangers as well: one alarm is enough, and the processor is for others.
  lines.length = 0
  const { derivations } = without.argon2.figures
  for (const tried of [password, 'a guess', password])
    await assertRefused(logIn(without, tried), 'PEPPER_MISSING')
  assert.equal(without.argon2.figures.derivations, derivations)
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1)
  await without.directory.flush()
  const events = await without.directory.pageAudit({ accountId: account.id, limit: 2 })
  assert.deepEqual(
    events.map(({ action, detail }) => [action, detail?.['code']]),
    ['login-failed', 'key-alarm'].map((action) => [action, 'PEPPER_MISSING'])
  )
  const [oldSecret, newPassword] = [Buffer.from(recoveryCode), Buffer.from('new secret')]
  await changePassword({ services: without, account, oldSecret, newPassword })
  await without.close()
  ;(await logIn(await open(), 'new secret')).masterKey.dispose()
})

test('somebody else’s public seal key in the directory is an alarm, and nobody is let in', async (t) => {
  const { services, data, lines } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  ;(await logIn(services, 'old secret')).masterKey.dispose()
  const { publicKey, recipient } = generateSealIdentity()
  const theirs = { publicKey, recipient }
  const own = { publicKey: account.sealPublicKey, recipient: account.sealRecipient }
  const changes = [
    'UPDATE account_seals SET public_key = $publicKey, recipient = $recipient',
    'UPDATE seal_identities SET recipient = $recipient'
  ]
  for (const sql of changes) {
    tamper(data, sql, [theirs])
    // Where mail would be sealed to another key, a repeat login as well as a first one.
    if (!sql.includes('public_key')) services.unlocker.forget(account.id)
    await assertRefused(logIn(services, 'old secret'), 'KEYS_CONTRADICT')
    tamper(data, sql, [own])
    ;(await logIn(services, 'old secret')).masterKey.dispose()
  }
  await services.directory.flush()
  const alarms = (await services.directory.pageAudit({ accountId: account.id, limit: 100 })).filter(
    ({ action }) => action === 'key-alarm'
  )
  assert.equal(alarms.length, changes.length)
  assert.ok(lines.some(({ level, code }) => level === 'error' && code === 'KEYS_CONTRADICT'))
})

test('of a public seal key that stands in two ways the damaged one is named, and put right at the next login', async (t) => {
  const { services, data, lines } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { directory, unlocker } = services
  assert.deepEqual(await directory.quickCheck(), { problems: [], misfits: [], keyless: [] })
  const [key, name] = [Buffer.from(account.sealPublicKey), account.sealRecipient]
  key[1215] = Number(key[1215]) ^ 1
  const changes = {
    'UPDATE account_seals SET public_key = ?': key,
    'UPDATE account_seals SET recipient = ?': name.replace(/.$/, (last) =>
      last === 'q' ? 'p' : 'q'
    )
  }
  for (const [sql, value] of Object.entries(changes)) {
    tamper(data, sql, [value])
    assert.deepEqual(await directory.quickCheck(), {
      problems: [],
      misfits: [account.id],
      keyless: []
    })
    unlocker.forget(account.id)
    ;(await logIn(services, 'old secret')).masterKey.dispose()
    const now = await directory.findAccount(account.id)
    assert.deepEqual([now?.sealPublicKey, now?.sealRecipient], [account.sealPublicKey, name])
    assert.deepEqual(await directory.quickCheck(), { problems: [], misfits: [], keyless: [] })
  }
  await directory.flush()
  const alarms = await directory.pageAudit({ action: 'key-alarm', limit: 9 })
  assert.equal(alarms.length, 2)
  tamper(data, 'DELETE FROM account_seals')
  assert.deepEqual((await directory.quickCheck()).misfits, [account.id])
  assert.equal(lines.filter(({ msg }) => msg === 'keys alarm').length, 2)
})

test('an account that is deleted while its seal key is looked at is no alarm', async (t) => {
  const { services, lines } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const { directory } = services
  const deleted = async (/** @type {string} */ accountId) => {
    await deleteAccount({ services, account })
    return await directory.listSealIdentities(accountId)
  }
  t.mock.method(directory, 'listSealIdentities', deleted, { times: 1 })
  await assertRefused(logIn(services, 'old secret'))
  await directory.flush()
  const actions = (await directory.pageAudit({ limit: 100 })).map(({ action }) => action)
  assert.equal(actions.includes('key-alarm'), false)
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    []
  )
})
