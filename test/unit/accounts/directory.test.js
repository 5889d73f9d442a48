import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import Database from 'better-sqlite3-multiple-ciphers'
import { openDirectory } from '../../../src/accounts/directory.js'
import { isMailError } from '../../../src/errors.js'
import { isOnDisk } from '../../helpers/disk-search.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { recordingLogger } from '../../helpers/log-lines.js'

/**
 * @typedef {import('../../../src/accounts/directory-port.js').Credential} Credential
 * @typedef {import('../../../src/accounts/directory-port.js').NewAccount} NewAccount
 */

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-directory-'))
  const path = join(data, 'directory.db')
  const clock = new ManualClock()
  const { logger, lines } = recordingLogger()
  const open = (/** @type {Partial<Parameters<typeof openDirectory>[0]>} */ options = {}) =>
    openDirectory({ path, defaultDomain: 'example.org', clock, logger, ...options })
  const directory = open()
  t.after(async () => {
    await directory.close().catch(() => {})
    await rm(data, { recursive: true, force: true })
  })
  return { data, path, clock, directory, open, lines }
}

/**
 * @param {string} accountId
 * @param {Partial<Credential>} [change]
 * @returns {Credential}
 */
function credential(accountId, change) {
  return {
    id: randomBytes(8).toString('hex'),
    accountId,
    kind: 'password',
    label: '',
    scope: 'read-write',
    expiresAtMs: null,
    version: 1,
    argon2: { memoryKiB: 65_536, passes: 2, parallelism: 1 },
    pepperId: '0011223344556677',
    keyEpoch: 1,
    lookup: null,
    salt: randomBytes(16),
    commitment: randomBytes(32),
    wrappedKey: randomBytes(61),
    createdAtMs: 1,
    changedAtMs: 1,
    lastUsedAtMs: null,
    ...change
  }
}

/**
 * @param {string} data
 * @param {string} address
 * @returns {NewAccount}
 */
function newAccount(data, address) {
  const id = randomBytes(8).toString('hex')
  const domain = String(address.split('@')[1])
  return {
    id,
    address,
    domain,
    folder: join(data, 'mail', domain, id),
    cipher: 'chacha20',
    quotaBytes: 0,
    quotaMessages: 0,
    keys: {
      keyEpoch: 1,
      sealRecipient: `age1pq1${id}`,
      sealPublicKey: randomBytes(1216),
      credentials: [
        credential(id),
        credential(id, { kind: 'recovery', argon2: null, pepperId: null })
      ],
      sealIdentities: [
        {
          accountId: id,
          number: 1,
          recipient: `age1pq1${id}`,
          keyEpoch: 1,
          wrappedSecret: randomBytes(61),
          createdAtMs: 1
        }
      ]
    }
  }
}

const isExisting = (/** @type {unknown} */ error) => isMailError(error, 'ACCOUNT_EXISTS')
const isMissing = (/** @type {unknown} */ error) => isMailError(error, 'ACCOUNT_NOT_FOUND')

test('an account is found as it was created, after a restart too', async (t) => {
  const { data, directory, open, clock } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  const created = await directory.createAccount(input)
  assert.deepEqual(created, {
    id: input.id,
    address: 'anna@example.org',
    domain: 'example.org',
    tenant: 'example.org',
    folder: input.folder,
    createdAtMs: clock.nowMs(),
    isEnabled: true,
    cipher: 'chacha20',
    quotaBytes: 0,
    quotaMessages: 0,
    usedBytes: 0,
    usedMessages: 0,
    keyEpoch: 1,
    sealRecipient: input.keys.sealRecipient,
    sealPublicKey: input.keys.sealPublicKey
  })
  await directory.close()
  const again = open()
  assert.deepEqual(await again.findAccount(input.id), created)
  assert.deepEqual(
    (await again.listCredentials(input.id)).map(({ id }) => id).sort(),
    input.keys.credentials.map(({ id }) => id).sort()
  )
  await again.close()
})

test('an address is found in any case, by default domain, alias and detail', async (t) => {
  const { data, directory } = await setUp(t)
  const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
  await directory.addAlias(anna.id, 'Post.Master@Example.org')
  for (const name of [
    'anna@example.org',
    'ANNA@EXAMPLE.ORG',
    'anna',
    'anna+lists@example.org',
    'Anna+a+b',
    'post.master@example.org',
    'post.master+x@example.org'
  ]) {
    assert.equal((await directory.findByAddress(name))?.id, anna.id, name)
  }
  for (const name of [
    '',
    '@',
    'bert@example.org',
    'anna@example.com',
    '+anna',
    'a b',
    'x'.repeat(9999)
  ]) {
    assert.equal(await directory.findByAddress(name), null, name)
  }
})

test('an account of the full name goes before the owner of the detail', async (t) => {
  const { data, directory } = await setUp(t)
  await directory.createAccount(newAccount(data, 'anna@example.org'))
  const tagged = await directory.createAccount(newAccount(data, 'anna+work@example.org'))
  assert.equal((await directory.findByAddress('anna+work'))?.id, tagged.id)
})

test('no address belongs to two accounts, as primary one or alias', async (t) => {
  const { data, directory } = await setUp(t)
  const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
  const bert = await directory.createAccount(newAccount(data, 'bert@example.org'))
  await directory.addAlias(anna.id, 'info@example.org')
  await assert.rejects(directory.createAccount(newAccount(data, 'anna@example.org')), isExisting)
  await assert.rejects(directory.createAccount(newAccount(data, 'info@example.org')), isExisting)
  await assert.rejects(directory.addAlias(bert.id, 'INFO@example.org'), isExisting)
  await assert.rejects(directory.addAlias(bert.id, 'anna@example.org'), isExisting)
  await assert.rejects(directory.addAlias('nobody', 'free@example.org'), isMissing)
  assert.deepEqual(await directory.listAliases(anna.id), ['info@example.org'])
  assert.equal(await directory.removeAlias(bert.id, 'info@example.org'), false)
  assert.equal(await directory.removeAlias(anna.id, 'anna@example.org'), false)
  assert.equal(await directory.removeAlias(anna.id, 'info@example.org'), true)
  assert.equal(await directory.findByAddress('info@example.org'), null)
})

test('a creation that fails leaves no row', async (t) => {
  const { data, directory } = await setUp(t)
  await directory.createAccount(newAccount(data, 'anna@example.org'))
  const twin = newAccount(data, 'anna@example.org')
  await assert.rejects(directory.createAccount(twin), isExisting)
  assert.deepEqual(await directory.listCredentials(twin.id), [])
  assert.deepEqual(await directory.listSealIdentities(twin.id), [])
  assert.equal((await directory.listAccounts()).length, 1)
})

test('a folder outside the data folder is never taken', async (t) => {
  const { data, directory } = await setUp(t)
  for (const folder of [data, join(data, '..', 'elsewhere'), '/']) {
    const account = { ...newAccount(data, 'anna@example.org'), folder }
    await assert.rejects(directory.createAccount(account), RangeError)
  }
})

test('accounts and domains are listed by name', async (t) => {
  const { data, directory } = await setUp(t)
  for (const address of ['b@example.org', 'a@example.org', 'c@example.com']) {
    await directory.createAccount(newAccount(data, address))
  }
  const addresses = (await directory.listAccounts()).map(({ address }) => address)
  assert.deepEqual(addresses, ['c@example.com', 'a@example.org', 'b@example.org'])
  assert.equal((await directory.listAccounts({ domain: 'example.com' })).length, 1)
  assert.deepEqual(await directory.listDomains(), [
    { name: 'example.com', accounts: 1 },
    { name: 'example.org', accounts: 2 }
  ])
})

test('an account can be disabled and its quota changed, one without the other', async (t) => {
  const { data, directory } = await setUp(t)
  const { id } = await directory.createAccount(newAccount(data, 'anna@example.org'))
  await directory.updateAccount(id, { quotaBytes: 5 })
  await directory.updateAccount(id, { isEnabled: false, quotaMessages: 7, cipher: 'aegis-256' })
  const account = await directory.findAccount(id)
  assert.deepEqual(
    [account?.quotaBytes, account?.quotaMessages, account?.isEnabled, account?.cipher],
    [5, 7, false, 'aegis-256']
  )
  await assert.rejects(directory.updateAccount('nobody', { quotaBytes: 1 }), isMissing)
})

test('last use, usage and audit wait in memory and are there after a flush and at close', async (t) => {
  const { data, directory, open, clock } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const credentialId = String(input.keys.credentials[0]?.id)
  clock.advance(1000)
  directory.recordUse(credentialId)
  directory.recordUsage(input.id, { bytes: 1, messages: 1 })
  directory.recordUsage(input.id, { bytes: 10, messages: 2 })
  directory.audit({ action: 'login', accountId: input.id, remoteAddress: '192.0.2.1' })
  assert.equal((await directory.findAccount(input.id))?.usedBytes, 0)
  await directory.flush()
  const account = await directory.findAccount(input.id)
  assert.deepEqual([account?.usedBytes, account?.usedMessages], [10, 2])
  assert.equal((await directory.findCredential(credentialId))?.lastUsedAtMs, clock.nowMs())
  directory.audit({ action: 'logout', accountId: input.id, detail: { reason: 'gone' } })
  await directory.close()
  const again = open()
  const rows = await again.listAudit({ accountId: input.id })
  assert.deepEqual(
    rows.map(({ action, remoteAddress, detail }) => ({ action, remoteAddress, detail })),
    [
      { action: 'logout', remoteAddress: null, detail: { reason: 'gone' } },
      { action: 'login', remoteAddress: '192.0.2.1', detail: undefined }
    ]
  )
  await again.close()
})

test('what waits is written within about a second by itself', async (t) => {
  const { data, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  directory.recordUsage(input.id, { bytes: 10, messages: 2 })
  for (let tries = 0; tries < 300; tries++) {
    if ((await directory.findAccount(input.id))?.usedBytes === 10) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.fail('the usage was not written')
})

test('the audit log forgets after a year, and counts what did not fit into memory', async (t) => {
  const { directory, clock } = await setUp(t)
  directory.audit({ action: 'old' })
  await directory.flush()
  clock.advance(366 * 24 * 3_600_000)
  for (let index = 0; index < 10_003; index++) directory.audit({ action: 'login' })
  await directory.flush()
  const rows = await directory.listAudit({ limit: 20_000 })
  assert.equal(rows.length, 10_001)
  assert.deepEqual(rows[0]?.detail, { dropped: 3 })
  assert.ok(!rows.some(({ action }) => action === 'old'))
})

test('the audit log keeps its largest number of events, the newest of them', async (t) => {
  const { open } = await setUp(t)
  const directory = open({ audit: { days: 365, maxEvents: 1000 } })
  const kept = async () => {
    const rows = await directory.pageAudit({ limit: 20_000, isOldestFirst: true })
    return [rows.length, rows[0]?.detail?.['nth'], rows.at(-1)?.detail?.['nth']]
  }
  let nth = 0
  const record = async (/** @type {number} */ count) => {
    for (let n = 0; n < count; n++) directory.audit({ action: 'login', detail: { nth: ++nth } })
    await directory.flush()
  }
  await record(999)
  assert.deepEqual(await kept(), [999, 1, 999])
  await record(3)
  assert.deepEqual(await kept(), [1000, 3, 1002])
  await record(9000)
  assert.deepEqual(await kept(), [1000, 9003, 10_002])
  await directory.close()
})

test('refused logins of one account and address are one row for each write, with their number', async (t) => {
  const { directory } = await setUp(t)
  const refuse = (/** @type {string | null} */ accountId, /** @type {string} */ remoteAddress) =>
    directory.audit({ action: 'login-failed', accountId, remoteAddress })
  for (let index = 0; index < 10_000; index++) refuse(null, '192.0.2.1')
  refuse(null, '192.0.2.2')
  refuse('0123456789abcdef', '192.0.2.1')
  await directory.flush()
  refuse(null, '192.0.2.1')
  await directory.flush()
  const rows = await directory.pageAudit({ limit: 10, isOldestFirst: true })
  assert.deepEqual(
    rows.map(({ remoteAddress, accountId, detail }) => [remoteAddress, accountId, detail]),
    [
      ['192.0.2.1', null, { count: 10_000 }],
      ['192.0.2.2', null, undefined],
      ['192.0.2.1', '0123456789abcdef', undefined],
      ['192.0.2.1', null, undefined]
    ]
  )
})

test('a revoked credential is gone from the file and from the write-ahead log', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  for (let index = 0; index < 30; index++) {
    await directory.createAccount(newAccount(data, `other${index}@example.org`))
  }
  const app = credential(input.id, {
    kind: 'app-password',
    argon2: null,
    pepperId: null,
    lookup: randomBytes(8)
  })
  await directory.insertCredential(app)
  assert.equal(isOnDisk(path, app.wrappedKey), true, 'the search finds what is there')
  assert.deepEqual(
    await directory.findAppPassword(input.id, /** @type {Buffer} */ (app.lookup)),
    app
  )

  assert.equal(await directory.deleteCredential(app.id), true)
  assert.equal(await directory.deleteCredential(app.id), false)
  for (const bytes of [app.wrappedKey, app.commitment, app.salt]) {
    assert.equal(isOnDisk(path, bytes), false)
  }
  assert.equal((await stat(`${path}-wal`)).size, 0)
})

test('a replaced credential leaves nothing of the old wrap', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const [old] = /** @type {[Credential]} */ (input.keys.credentials)
  const next = { ...old, version: 2, wrappedKey: randomBytes(61), salt: randomBytes(16) }
  assert.equal(await directory.replaceCredentials([next], { version: 1 }), true)
  assert.deepEqual(await directory.findSingleCredential(input.id, 'password'), next)
  assert.equal(isOnDisk(path, old.wrappedKey), false)
  assert.equal(isOnDisk(path, old.salt), false)
  assert.equal(isOnDisk(path, next.wrappedKey), true)
})

test('a credential that changed meanwhile is not replaced', async (t) => {
  const { data, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const [old] = /** @type {[Credential]} */ (input.keys.credentials)
  const late = { ...old, wrappedKey: randomBytes(61) }
  assert.equal(await directory.replaceCredentials([late], { version: 9 }), false)
  await directory.deleteCredential(old.id)
  assert.equal(await directory.replaceCredentials([late], { version: 1 }), false)
  assert.equal(await directory.findCredential(old.id), null)
})

test('deleting an account erases every wrapped key of it first, and lists the folder', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  await directory.createAccount(newAccount(data, 'bert@example.org'))
  await directory.deleteAccount(input.id)
  for (const { wrappedKey, salt, commitment } of input.keys.credentials) {
    for (const bytes of [wrappedKey, salt, commitment]) assert.equal(isOnDisk(path, bytes), false)
  }
  for (const { wrappedSecret } of input.keys.sealIdentities) {
    assert.equal(isOnDisk(path, wrappedSecret), false)
  }
  assert.equal(await directory.findByAddress('anna@example.org'), null)
  assert.deepEqual(await directory.listRemovals(), [input.folder])
  await directory.finishRemoval(input.folder)
  assert.deepEqual(await directory.listRemovals(), [])
  await assert.rejects(directory.deleteAccount(input.id), isMissing)
})

test('a rekey waits beside the present rows, and takes their place or is forgotten', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const next = { ...newAccount(data, 'x@example.org').keys, keyEpoch: 2 }
  next.credentials = next.credentials.map((row) => ({ ...row, accountId: input.id }))
  next.sealIdentities = next.sealIdentities.map((row) => ({ ...row, accountId: input.id }))
  const rekey = {
    accountId: input.id,
    wrappedNextKey: randomBytes(61),
    next,
    startedAtMs: 5
  }
  await directory.beginRekey(rekey)
  assert.deepEqual(await directory.findRekey(input.id), rekey)
  assert.equal((await directory.findAccount(input.id))?.keyEpoch, 1)
  await directory.cancelRekey(input.id)
  assert.equal(await directory.findRekey(input.id), null)
  assert.equal(isOnDisk(path, rekey.wrappedNextKey), false)

  await directory.beginRekey(rekey)
  await directory.finishRekey(input.id)
  assert.equal(await directory.findRekey(input.id), null)
  const account = await directory.findAccount(input.id)
  assert.equal(account?.keyEpoch, 2)
  assert.deepEqual(account?.sealPublicKey, next.sealPublicKey)
  assert.deepEqual(await directory.listSealIdentities(input.id), next.sealIdentities)
  for (const { wrappedKey } of input.keys.credentials) {
    assert.equal(isOnDisk(path, wrappedKey), false)
  }
  await assert.rejects(directory.finishRekey(input.id), isMissing)
})

test('a reader in another process postpones the truncation, and says so', async (t) => {
  const { data, path, directory, open, lines } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const other = open()
  // A second connection with a read transaction stands for the other process.
  const reader = new Database(path)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM accounts').get()
  await directory.deleteCredential(String(input.keys.credentials[0]?.id))
  assert.ok(lines.some(({ msg }) => String(msg).includes('truncated')))
  assert.notEqual((await stat(`${path}-wal`)).size, 0)
  reader.exec('COMMIT')
  reader.close()
  await directory.flush()
  assert.equal((await stat(`${path}-wal`)).size, 0)
  await other.close()
})

test('two processes may open a new directory side by side', async (t) => {
  const { data } = await setUp(t)
  const script = `
    import { openDirectory } from '${new URL('../../../src/accounts/directory.js', import.meta.url)}'
    const logger = { warn() {}, error() {} }
    const directory = openDirectory({ path: process.argv[1], clock: { nowMs: () => 1 }, logger })
    await directory.listAccounts()
    await directory.close()`
  const path = join(data, 'fresh', 'directory.db')
  const run = () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, path])
  await Promise.all([run(), run(), run()])
  assert.ok((await stat(path)).size > 0)
})
