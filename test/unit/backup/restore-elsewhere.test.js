import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { requireOwner } from '../../../src/accounts/check-credential.js'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { chooseGeneration, requireEntry } from '../../../src/backup/choose.js'
import { withOpenCopy } from '../../../src/backup/open-copy.js'
import { restoreAs } from '../../../src/backup/restore-as.js'
import { restoreMessages } from '../../../src/backup/restore-messages.js'
import { openKeys } from '../../../src/backup/sealed-directory.js'
import { RecoveryKey } from '../../../src/backup/sealed.js'
import { deriveDatabaseKey } from '../../../src/crypto/key-derivation.js'
import { convertCipher } from '../../../src/store/mail-file.js'
import { logIn, tamper } from '../../helpers/accounts.js'
import { openBackupHost } from '../../helpers/backup.js'
import { appendAll, temporaryStore } from '../../helpers/temporary-store.js'
import { ANNA, PASSWORD, deliver, drain, restore, withLogin } from '../../helpers/restore.js'

test('after a rekey, the mailbox of before does not come back in place, but under another name', async (t) => {
  const host = await openBackupHost(t)
  const anna = await host.addAccount(ANNA, 4)
  const waiting = await deliver(anna, 'waits')
  const { generation: name } = await host.backUp()
  const password = Buffer.from(PASSWORD)
  await rekeyAccount({ services: host.services, account: anna, password })
  const account = await host.services.directory.findAccount(anna.id)
  assert.ok(account)
  await assert.rejects(restore(host, account, name), { code: 'RESTORE_REFUSED' })

  const { services, target } = host
  const generation = await host.repository.readGeneration(name)
  const address = 'anna-old@example.org'
  const request = { services, target, generation, account, address, password }
  await assert.rejects(restoreAs({ ...request, keys: null }), { code: 'RESTORE_REFUSED' })
  const keys = await openKeys(
    target,
    requireEntry(generation, anna.id),
    await RecoveryKey.parse(host.recoveryKey)
  )
  await assert.rejects(restoreAs({ ...request, keys, password: Buffer.from('wrong') }), {
    code: 'AUTHENTICATION_FAILED'
  })
  const made = await restoreAs({ ...request, keys })
  assert.equal(made.account.address, address)
  // What waited comes in at a login, also where nothing else was done after the account was made.
  assert.deepEqual(await readdir(join(made.account.folder, 'spool')), [waiting.name])
  const { delivered, setAside } = await drain(services, made.account)
  assert.deepEqual({ delivered, setAside }, { delivered: 1, setAside: 0 })
  assert.equal((await host.inboxOf(address)).count, 5)
  assert.equal((await host.inboxOf(ANNA)).count, 4)
})

test('under another name, with the password of today', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 4)
  await host.backUp()
  await host.addMessages(ANNA, 1)
  const { services, target } = host
  const generation = await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() })
  const password = Buffer.from(PASSWORD)
  const request = { services, target, generation, account, keys: null, password }
  await assert.rejects(restoreAs({ ...request, address: ANNA }), { code: 'ACCOUNT_EXISTS' })
  const { recoveryCode, account: made } = await restoreAs({ ...request, address: 'b@example.org' })
  assert.equal((await host.inboxOf('b@example.org')).count, 4)
  const secret = Buffer.from(recoveryCode)
  const checked = await requireOwner({ services, account: made, secret })
  checked.masterKey.dispose()
  assert.equal((await host.inboxOf(ANNA)).count, 5)
})

test('the new account may have the address of the old one with a detail, as any other new one', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 4)
  await host.backUp()
  const { services, target } = host
  const generation = await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() })
  const address = ANNA.replace('@', '+2024@')
  const password = Buffer.from(PASSWORD)
  const request = { services, target, generation, account, keys: null, password, address }
  const { account: made } = await restoreAs(request)
  assert.equal(made.address, address)
  assert.notEqual(made.id, account.id)
  assert.equal((await host.inboxOf(address)).count, 4)
  await assert.rejects(restoreAs(request), { code: 'ACCOUNT_EXISTS' })
})

test('where nobody has said what cipher a mailbox has, the new account does not say so either', async (t) => {
  const host = await openBackupHost(t, { 'storage.cipher': 'aegis-256' })
  const { id } = await host.addAccount(ANNA)
  const { masterKey } = await logIn(host.services, PASSWORD)
  const key = deriveDatabaseKey(masterKey.bytes)
  masterKey.dispose()
  const found = await host.services.directory.findAccount(id)
  assert.ok(found)
  await convertCipher({
    folder: found.folder,
    key,
    cipher: found.cipher,
    nextCipher: 'aes256cbc',
    timeoutMs: 5000
  })
  tamper(host.data, 'UPDATE accounts SET cipher = NULL')
  await host.backUp()
  const account = await host.services.directory.findAccount(id)
  assert.ok(account)
  const { services, target } = host
  const { account: made } = await restoreAs({
    services,
    target,
    generation: await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() }),
    account,
    keys: null,
    password: Buffer.from(PASSWORD),
    address: 'b@example.org'
  })
  assert.equal(made.cipher, null)
  await withLogin(services, 'b@example.org', async (store) =>
    assert.equal(store.cipher, 'aes256cbc')
  )
})

test('a folder and a message come back into a folder of their own, with flags and dates', async (t) => {
  const host = await openBackupHost(t)
  const account = await host.addAccount(ANNA, 3)
  const { services, target, clock } = host
  await withLogin(services, ANNA, async (store) => {
    await store.createMailbox('Invoices')
    const content = await store.stageContent()
    await content.write(
      Buffer.from('Message-ID: <wanted@example.net>\r\nSubject: x\r\n\r\nbody\r\n')
    )
    await store.appendMessages('Invoices', [
      {
        content: await content.finish(),
        flags: ['\\Seen', '\\Deleted', 'paid'],
        internalDate: { epochSeconds: 1_700_000_000, zoneMinutes: 60 }
      }
    ])
  })
  await host.backUp()
  await withLogin(services, ANNA, (store) => store.deleteMailbox('Invoices'))

  const generation = await chooseGeneration(host.repository, { nowMs: host.clock.nowMs() })
  const entry = requireEntry(generation, account.id)
  const { masterKey } = await logIn(services, PASSWORD)
  const folder = join(host.data, 'tmp', 'copy')
  const take = (/** @type {{ folder: string | null, messageId: string | null }} */ wanted) =>
    withOpenCopy({ target, entry, masterKey, folder, clock }, (from) =>
      withLogin(services, ANNA, (to) => restoreMessages({ from, to, wanted, into: 'Restored' }))
    )
  assert.deepEqual(await take({ folder: 'Invoices', messageId: null }), {
    restored: 1,
    folders: ['Restored/Invoices']
  })
  assert.deepEqual((await take({ folder: 'Invoices/', messageId: null }))?.folders, [
    'Restored/Invoices'
  ])
  assert.deepEqual((await take({ folder: 'inbox', messageId: null }))?.folders, ['Restored/INBOX'])
  assert.deepEqual(await take({ folder: null, messageId: '<wanted@example.net>' }), {
    restored: 1,
    folders: ['Restored/Invoices']
  })
  assert.equal((await take({ folder: null, messageId: 'nobody@example.net' }))?.restored, 0)
  // No failure: a folder of today that is deleted meanwhile is one.
  assert.equal(await take({ folder: 'None', messageId: null }), null)
  assert.equal(existsSync(folder), false)
  masterKey.dispose()
  await withLogin(services, ANNA, async (store) => {
    const subscribed = (await store.listSubscriptions()).filter((name) => /^Restored/.test(name))
    assert.deepEqual(subscribed, ['Restored', 'Restored/INBOX', 'Restored/Invoices'])
    const { view } = await store.openView('Restored/Invoices')
    const records = await store.readMessages(view.mailboxId, [1, 2], { row: true })
    assert.equal(records.length, 2)
    for (const { flags, keywords, internalDate } of records) {
      assert.deepEqual(store.keywords.flagNames(flags, keywords), ['\\Seen', 'paid'])
      assert.deepEqual(internalDate, { epochSeconds: 1_700_000_000, zoneMinutes: 60 })
    }
    store.closeView(view)
  })
})

test('a message is found by its Message-ID however that is written', async (t) => {
  const from = await temporaryStore(t)
  const to = await temporaryStore(t)
  const ids = ['<a@example.net>', '<"quoted id"@example.net>', '<two words@example.net>', '<word>']
  const mails = ids.map((id) => ({ bytes: Buffer.from(`Message-ID: ${id}\r\n\r\nbody\r\n`) }))
  await appendAll(from, 'INBOX', mails)
  for (const id of [...ids, ...ids.map((each) => each.slice(1, -1))]) {
    const wanted = { folder: null, messageId: ` ${id} ` }
    assert.equal((await restoreMessages({ from, to, wanted, into: 'Restored' }))?.restored, 1, id)
  }
})

test('of more messages than are copied at a time none is left out, in their order, and no folder is made for none', async (t) => {
  const from = await temporaryStore(t)
  const to = await temporaryStore(t)
  const mails = Array.from({ length: 120 }, (_, nth) => ({
    bytes: Buffer.from(`Message-ID: <${nth}@example.net>\r\n\r\n${nth}\r\n`)
  }))
  await appendAll(from, 'INBOX', mails)
  await from.createMailbox('Empty')
  /** @type {number[]} */
  const told = []
  const onProgress = (/** @type {number} */ restored) => told.push(restored)
  const wanted = { folder: null, messageId: null }
  const restored = await restoreMessages({ from, to, wanted, into: 'Restored', onProgress })
  assert.deepEqual(restored, { restored: 120, folders: ['Restored/INBOX'] })
  assert.deepEqual([told.at(-1), told], [120, told.toSorted((a, b) => a - b)])
  const mailboxes = await to.listMailboxes()
  assert.ok(!mailboxes.some(({ name }) => name === 'Restored/Empty'))
  const { view } = await to.openView('Restored/INBOX')
  const uids = mails.map((_, nth) => nth + 1)
  const records = await to.readMessages(view.mailboxId, uids, { row: true, search: true })
  assert.deepEqual(
    records.map(({ messageId }) => messageId),
    mails.map((_, nth) => `<${nth}@example.net>`)
  )
  to.closeView(view)
})

test('a folder whose name has no room below another comes back with as much of its end as has', async (t) => {
  const from = await temporaryStore(t)
  const to = await temporaryStore(t)
  const deepest = Array.from({ length: 40 }, (_, level) => `l${level}`)
  const longest = ['\u00fc'.repeat(512), `${'x'.repeat(1019)}/end`]
  for (const name of [...longest, deepest.join('/'), 'short']) {
    await from.createMailbox(name)
    await appendAll(from, name, [{ bytes: Buffer.from(`Subject: x\r\n\r\nbody\r\n`) }])
  }
  const wanted = { folder: null, messageId: null }
  const made = await restoreMessages({ from, to, wanted, into: 'Restored' })
  assert.deepEqual(
    [made?.restored, made?.folders.toSorted()],
    [
      4,
      [
        'Restored/end',
        `Restored/${deepest.slice(1).join('/')}`,
        'Restored/short',
        `Restored/${'\u00fc'.repeat(507)}`
      ]
    ]
  )
})
