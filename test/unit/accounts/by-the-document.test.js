/**
 * What docs/formats.md says of keys opens a mailbox and its sealed mail without this program: by that alone, and libraries.
 */
import assert from 'node:assert/strict'
import { createDecipheriv, hkdfSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hashRaw } from '@node-rs/argon2'
import { identityToRecipient } from 'age-encryption'
import Database from 'better-sqlite3-multiple-ciphers'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { identityText } from '../../helpers/age-identity.js'
import { makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import { crashing, rekey } from '../../helpers/change-keys.js'

const DOCUMENT = readFileSync(new URL('../../../docs/formats.md', import.meta.url), 'utf8')
const ARGON2ID = 2
const PASSWORD = 'a passwo\u0308rd'

/**
 * @param {string} text - that a reader must find
 * @returns {string}
 */
function told(text) {
  assert.ok(DOCUMENT.includes(`"${text}"`), text)
  return text
}

/**
 * @param {Uint8Array} key
 * @param {Uint8Array} salt
 * @param {string} info
 */
const hkdf = (key, salt, info) => Buffer.from(hkdfSync('sha256', key, salt, told(info), 32))
const NO_SALT = Buffer.alloc(0)

/**
 * @param {Buffer} wrapped
 * @param {Buffer} key
 * @param {unknown[]} associated
 */
function unwrap(wrapped, key, [purpose, ...fields]) {
  assert.equal(wrapped[0], 1)
  const decipher = createDecipheriv('aes-256-gcm', key, wrapped.subarray(1, 13))
  decipher.setAAD(Buffer.from(JSON.stringify([told(String(purpose)), ...fields])))
  decipher.setAuthTag(wrapped.subarray(-16))
  return Buffer.concat([decipher.update(wrapped.subarray(13, -16)), decipher.final()])
}

/**
 * @param {any} row - of `credentials`
 * @param {string} secret - as typed
 * @param {Buffer} pepper
 */
async function masterKeyOf(row, secret, pepper) {
  const isPassword = row.kind === 'password'
  const material = isPassword
    ? await hashRaw(secret.normalize('NFC'), {
        algorithm: ARGON2ID,
        memoryCost: row.argon2_memory_kib,
        timeCost: row.argon2_passes,
        parallelism: row.argon2_parallelism,
        outputLen: 32,
        salt: row.salt
      })
    : Buffer.from(secret.slice('llapp'.length).replaceAll('-', '').toLowerCase())
  const salt = isPassword ? pepper : row.salt
  const name = isPassword ? 'password' : 'code'
  assert.ok(hkdf(material, salt, `letterlock/1 ${name} commitment`).equals(row.commitment))
  return unwrap(row.wrapped_key, hkdf(material, salt, `letterlock/1 ${name} kek`), [
    'letterlock/1 credential',
    ...[row.account_id, row.id, row.kind, row.scope, row.expires_at_ms, row.version],
    ...[row.argon2_memory_kib, row.argon2_passes, row.argon2_parallelism],
    ...[row.pepper_id, row.key_epoch]
  ])
}

/**
 * @param {{ folder: string }} account
 * @param {Buffer} masterKey
 * @returns {unknown[]}
 */
function mailboxesOf({ folder }, masterKey) {
  const mail = new Database(join(folder, 'mail.db'), { readonly: true })
  const key = hkdf(masterKey, NO_SALT, 'letterlock/1 database').toString('hex')
  mail.pragma("cipher = 'chacha20'")
  mail.pragma(`key = "raw:${key}"`)
  try {
    return mail.prepare("SELECT name FROM mailboxes WHERE name = 'INBOX'").pluck().all()
  } finally {
    mail.close()
  }
}

test('password, app password and recovery code open a mailbox and its sealed mail by the document', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services, 'anna@example.org', PASSWORD)
  const { text: appPassword } = await createAppPassword({
    services,
    account,
    secret: Buffer.from(PASSWORD),
    label: 'phone',
    scope: 'read-only',
    expiresAtMs: 4e12
  })
  const directory = new Database(join(data, 'directory.db'), { readonly: true })
  const pepper = readFileSync(join(data, 'pepper'))
  /** @type {any[]} */
  const rows = directory.prepare('SELECT * FROM credentials').all()
  const secrets = { password: PASSWORD, 'app-password': appPassword, recovery: recoveryCode }
  const masterKeys = await Promise.all(
    rows.map((row) =>
      masterKeyOf(row, secrets[/** @type {keyof typeof secrets} */ (row.kind)], pepper)
    )
  )
  assert.equal(new Set(masterKeys.map((key) => key.toString('hex'))).size, 1)
  assert.equal(masterKeys.length, 3)
  const masterKey = masterKeys[0] ?? assert.fail()

  const appCode = Buffer.from(appPassword.slice('llapp'.length).replaceAll('-', '').toLowerCase())
  const lookup = hkdf(appCode, Buffer.from(account.id), 'letterlock/1 app password lookup')
  assert.deepEqual(rows.map(({ kind, lookup }) => [kind, lookup]).toSorted(), [
    ['app-password', lookup.subarray(0, 8)],
    ['password', null],
    ['recovery', null]
  ])

  assert.deepEqual(mailboxesOf(account, masterKey), ['INBOX'])
  const [seal] = /** @type {any[]} */ (directory.prepare('SELECT * FROM seal_identities').all())
  const secret = unwrap(seal.wrapped_secret, hkdf(masterKey, NO_SALT, 'letterlock/1 seal'), [
    'letterlock/1 seal identity',
    ...[seal.account_id, seal.number, seal.recipient, seal.key_epoch]
  ])
  assert.equal(await identityToRecipient(identityText(secret)), seal.recipient)
  directory.close()
})

test('of a rekey that was cut short the next master key is found by the document', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services, 'anna@example.org', PASSWORD)
  const cutShort = crashing(services, 'finishRekey', 'before')
  await assert.rejects(rekey(cutShort, account, PASSWORD), /power/)
  const directory = new Database(join(data, 'directory.db'), { readonly: true })
  const row = /** @type {any} */ (
    directory.prepare("SELECT * FROM credentials WHERE kind = 'password'").get()
  )
  const pending = /** @type {any} */ (directory.prepare('SELECT * FROM rekeys').get())
  directory.close()
  const pepper = readFileSync(join(data, 'pepper'))
  const masterKey = await masterKeyOf(row, PASSWORD, pepper)
  const key = hkdf(masterKey, NO_SALT, 'letterlock/1 rekey')
  const associated = ['letterlock/1 rekey', account.id, row.key_epoch + 1]
  const next = unwrap(pending.wrapped_next_key, key, associated)
  assert.throws(() => mailboxesOf(account, masterKey), { code: 'SQLITE_NOTADB' })
  assert.deepEqual(mailboxesOf(account, next), ['INBOX'])
})
