import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateSealIdentity, identityFromSecret } from '../../../src/crypto/age.js'
import { encodeBech32 } from '../../../src/crypto/bech32.js'
import { LmtpClient, filesBelow, openSpool, stuffed } from '../../helpers/delivery.js'
import { ANN, MESSAGE, startLmtp } from '../../helpers/lmtp.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

test('a message that is announced too big is refused at MAIL with 552 5.3.4', async (t) => {
  const { port } = await startLmtp(t, { maxBytes: 5000 + 4096 })
  const client = await LmtpClient.connect(port)
  assert.match(await client.say('MAIL FROM:<> SIZE=5001'), /^552 5\.3\.4 /)
  assert.match(await client.say('MAIL FROM:<> SIZE=5000'), /^250 /)
  await client.quit()
})

test('a message that proves too big is refused for each recipient with 552 5.3.4, and nothing stays', async (t) => {
  const { port, folder, add, spoolFolder, identity } = await startLmtp(t, { maxBytes: 5000 + 4096 })
  await add('bob@example.org')
  const client = await LmtpClient.connect(port)
  const to = [ANN, 'bob@example.org']
  const replies = await client.deliver({ to, message: Buffer.alloc(300_000, 'x\r\n') })
  assert.equal(replies.length, 2)
  for (const reply of replies) assert.match(reply, /^552 5\.3\.4 /)
  assert.deepEqual(filesBelow(join(folder, 'mail')), [])
  const exact = Buffer.alloc(5000, 'abc\r\n')
  assert.match(String(await client.deliver({ to: [ANN], message: exact })), /^250 /)
  assert.match(
    String(
      await client.deliver({ to: [ANN], message: Buffer.concat([exact, Buffer.from('\r\n')]) })
    ),
    /^552 5\.3\.4 /
  )
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  await client.quit()
})

// A probe of reject_unverified_recipient is a RCPT without a message: by 452 Postfix refuses whoever wants to send.
test('over quota: 452 4.2.2 for the message, or 552 5.2.2 for the recipient where the configuration says so', async (t) => {
  for (const [overQuota, toRecipient, toMessage] of /** @type {const} */ ([
    ['temporary', /^250 /, /^452 4\.2\.2 /],
    ['permanent', /^552 5\.2\.2 /, null]
  ])) {
    const { port, directory, account } = await startLmtp(t, {
      lmtp: { overQuota },
      quota: { quotaBytes: 100_000 }
    })
    const client = await LmtpClient.connect(port)
    await client.say('MAIL FROM:<> SIZE=60000')
    assert.match(await client.say(`RCPT TO:<${ANN}>`), /^250 /)
    directory.recordUsage(account.id, { bytes: 50_000, messages: 3 })
    await directory.flush()
    assert.match(await client.say(`RCPT TO:<ann+2@example.org>`), toRecipient)
    await client.say('RSET')
    const message = Buffer.alloc(60_000, 'x\r\n')
    if (toMessage !== null)
      assert.match(String(await client.deliver({ to: [ANN], message })), toMessage)
    await client.quit()
  }
})

test('mail that waits in the spool counts against the quota', async (t) => {
  const { port } = await startLmtp(t, { quota: { quotaBytes: 40_000 } })
  const client = await LmtpClient.connect(port)
  const message = Buffer.alloc(15_000, 'x\r\n')
  assert.match(String(await client.deliver({ to: [ANN], message })), /^250 /)
  assert.match(String(await client.deliver({ to: [ANN], message })), /^250 /)
  assert.match(String(await client.deliver({ to: [ANN], message })), /^452 4\.2\.2 /)
  await client.quit()
})

test('a message may take all the room of its mailbox or tenant, and nothing more, what waits in the spool included', async (t) => {
  const { port, directory, add } = await startLmtp(t)
  const message = 'x\r\n'.repeat(400)
  const client = await LmtpClient.connect(port)
  const isFull = async (/** @type {string} */ address) =>
    String(await client.deliver({ to: [address], message })).startsWith('452 4.2.2 ')
  for (const [name, room, fulls] of /** @type {const} */ ([
    ['small', message.length - 1, [true]],
    ['exact', message.length, [false, true]]
  ])) {
    await add(`${name}@example.org`, { quotaBytes: room })
    await directory.createTenant({ id: name, label: '', quotaBytes: room, maxAccounts: 0 })
    const { account } = await add(`of-${name}@example.org`)
    await directory.updateAccount(account.id, { tenant: name })
    for (const address of [`${name}@example.org`, `of-${name}@example.org`])
      for (const full of fulls) assert.equal(await isFull(address), full, address)
  }
  await client.quit()
})

test('the number of messages counts against the quota', async (t) => {
  const { port } = await startLmtp(t, { quota: { quotaMessages: 2 } })
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: 'x' })), /^250 /)
  assert.match(String(await client.deliver({ to: [ANN], message: 'x' })), /^250 /)
  assert.match(String(await client.deliver({ to: [ANN], message: 'x' })), /^452 4\.2\.2 /)
  await client.quit()
})

test('mail that comes side by side is not counted twice: nothing is refused while there is room', async (t) => {
  const isStored = Promise.withResolvers()
  const isCounted = Promise.withResolvers()
  let stored = 0
  const { port, spoolFolder, identity } = await startLmtp(t, {
    quota: { quotaMessages: 3 },
    onceStored: async () => {
      if (stored++ > 0) return
      isStored.resolve(null)
      await isCounted.promise
    }
  })
  const [one, two] = [await LmtpClient.connect(port), await LmtpClient.connect(port)]
  const first = one.deliver({ to: [ANN], message: 'x' })
  await isStored.promise
  // For this one the spool is measured, with the file of the first in it.
  assert.match(String(await two.deliver({ to: [ANN], message: 'x' })), /^250 /)
  isCounted.resolve(null)
  assert.match(String(await first), /^250 /)
  assert.match(String(await one.deliver({ to: [ANN], message: 'x' })), /^250 /)
  assert.match(String(await one.deliver({ to: [ANN], message: 'x' })), /^452 4\.2\.2 /)
  assert.equal((await openSpool(spoolFolder, identity)).length, 3)
  await one.quit()
  await two.quit()
})

test('a key of which one bit is another: 451 4.7.5, an alarm in log and audit, and the others get their mail', async (t) => {
  const { logger, lines } = recordingLogger()
  let isDamaged = true
  const { port, directory, add, spoolFolder, identity } = await startLmtp(t, {
    logger,
    alter: (account) => {
      if (account?.address !== 'bob@example.org' || !isDamaged) return account
      const sealPublicKey = Buffer.from(account.sealPublicKey)
      sealPublicKey.writeUInt8(sealPublicKey.readUInt8(1215) ^ 1, 1215)
      return { ...account, sealPublicKey }
    }
  })
  const bob = await add('bob@example.org')
  const client = await LmtpClient.connect(port)
  for (let i = 0; i < 2; i++) {
    await client.say('MAIL FROM:<>')
    assert.match(await client.say('RCPT TO:<bob@example.org>'), /^451 4\.7\.5 /)
    await client.say('RSET')
  }
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  assert.equal(lines.filter(({ msg }) => msg === 'mail refused: keys alarm').length, 2)
  await directory.flush()
  const alarms = await directory.pageAudit({ accountId: bob.account.id, limit: 9 })
  assert.deepEqual(
    alarms.map(({ action, detail }) => [action, detail?.['code']]),
    [['key-alarm', 'KEYS_CONTRADICT']]
  )
  isDamaged = false
  const again = await client.deliver({ to: ['bob@example.org'], message: MESSAGE })
  assert.match(String(again), /^250 /)
  isDamaged = true
  await client.say('MAIL FROM:<>')
  assert.match(await client.say('RCPT TO:<bob@example.org>'), /^451 4\.7\.5 /)
  await directory.flush()
  const later = await directory.pageAudit({ accountId: bob.account.id, limit: 9 })
  assert.equal(later.length, 2, 'a key that was whole in between is a new alarm')
  await client.quit()
})

const NO_KEY = Buffer.alloc(1216, 0xff)

/** @param {any} account - as the directory has it */
const withoutKeyOfBob = (account) =>
  account?.address === 'bob@example.org'
    ? { ...account, sealPublicKey: NO_KEY, sealRecipient: encodeBech32('age1pq', NO_KEY) }
    : account

test('a key that cannot be sealed to: 451 4.7.5, nothing in the clear, and the others get theirs', async (t) => {
  const { port, folder, add, spoolFolder, identity } = await startLmtp(t, {
    alter: withoutKeyOfBob
  })
  await add('bob@example.org')
  const client = await LmtpClient.connect(port)
  const replies = await client.deliver({ to: ['bob@example.org', ANN], message: MESSAGE })
  assert.match(String(replies[0]), /^451 4\.7\.5 /)
  assert.match(String(replies[1]), /^250 /)
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  assert.equal(filesBelow(join(folder, 'mail')).length, 1)
  await client.quit()
})

test('disk trouble: 451 4.3.0, and the others get theirs', async (t) => {
  const { port, add, account, spoolFolder } = await startLmtp(t)
  const bob = await add('bob@example.org')
  rmSync(account.folder, { recursive: true })
  const client = await LmtpClient.connect(port)
  const replies = await client.deliver({ to: [ANN, 'bob@example.org'], message: MESSAGE })
  assert.match(String(replies[0]), /^451 4\.3\.0 /)
  assert.match(String(replies[1]), /^250 /)
  assert.equal((await openSpool(bob.spoolFolder, bob.identity)).length, 1)
  assert.throws(() => filesBelow(spoolFolder), { code: 'ENOENT' })
  await client.quit()
})

test(
  'a full disk: 452 4.3.1, nothing stays, and mail goes on when there is room',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, 8 * 1024 * 1024)
    const { port, spoolFolder, identity, close } = await startLmtp(t, { folder: disk.root })
    disk.fill(128 * 1024)
    const client = await LmtpClient.connect(port)
    const message = Buffer.alloc(200_000, 'x\r\n')
    assert.match(String(await client.deliver({ to: [ANN], message })), /^452 4\.3\.1 /)
    assert.deepEqual(filesBelow(spoolFolder), [])
    assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
    disk.clear()
    assert.match(String(await client.deliver({ to: [ANN], message })), /^250 /)
    assert.equal((await openSpool(spoolFolder, identity)).length, 2)
    await client.quit()
    await close()
  }
)

test('a directory that fails: 451 4.3.0', async (t) => {
  const { port } = await startLmtp(t, {
    alter: () => {
      throw new Error('out of order')
    }
  })
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^451 4\.3\.0 /)
  await client.quit()
})

// The old folder stays while somebody has the mailbox open, and takes whatever is written into it.
test('a mailbox that is made anew or deleted while its mail comes in: 451 4.3.0, and the next try is right', async (t) => {
  const { logger, lines } = recordingLogger()
  const { port, directory, account } = await startLmtp(t, { logger })
  const client = await LmtpClient.connect(port)
  const deliver = async (/** @type {() => Promise<void>} */ meanwhile) => {
    await client.say('MAIL FROM:<>')
    assert.match(await client.say(`RCPT TO:<${ANN}>`), /^250 /)
    assert.match(await client.say('DATA'), /^354 /)
    client.wire.send('Subject: on its way\r\n')
    await meanwhile()
    client.wire.send(stuffed('\r\nThe body.\r\n'))
    return await client.reply()
  }
  const next = generateSealIdentity()
  const newFolder = `${account.folder}-2`
  const makeAnew = async () => {
    mkdirSync(newFolder)
    await directory.replaceMailbox(account.id, {
      folder: newFolder,
      cipher: 'chacha20',
      keys: {
        keyEpoch: 2,
        sealRecipient: next.recipient,
        sealPublicKey: next.publicKey,
        credentials: [],
        sealIdentities: []
      }
    })
  }
  assert.match(await deliver(makeAnew), /^451 4\.3\.0 /)
  assert.match(await deliver(async () => {}), /^250 /)
  const spoolFolder = join(newFolder, 'spool')
  assert.equal((await openSpool(spoolFolder, identityFromSecret(next.secret))).length, 1)
  const erase = async () => {
    await directory.deleteAccount(account.id)
    rmSync(newFolder, { recursive: true })
  }
  assert.match(await deliver(erase), /^451 4\.3\.0 /)
  const errors = lines.filter(({ level }) => level === 'error')
  assert.deepEqual(errors, [], 'nothing is wrong with the disk')
  await client.quit()
})

test('a recipient above the limit gets 452 4.5.3, also a repeated one', async (t) => {
  const { port } = await startLmtp(t, { lmtp: { maxRecipients: 2 } })
  const client = await LmtpClient.connect(port)
  await client.say('MAIL FROM:<>')
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^250 /)
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^250 /)
  assert.match(await client.say(`RCPT TO:<${ANN}>`), /^452 4\.5\.3 /)
  assert.match(await client.say('RCPT TO:<ann+3@example.org>'), /^452 4\.5\.3 /)
  await client.quit()
})

test('a message that is stored gets its 250, even when nobody can be told of it', async (t) => {
  const { port, spoolFolder, identity } = await startLmtp(t, {
    notify: () => {
      throw new Error('out of order')
    }
  })
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  assert.equal((await openSpool(spoolFolder, identity)).length, 1)
  await client.quit()
})

test('what a killed process left in tmp/ an hour ago goes with the next mail', async (t) => {
  const { port, spoolFolder } = await startLmtp(t)
  const leftover = join(spoolFolder, 'tmp', `${'0'.repeat(32)}.sealed`)
  mkdirSync(join(spoolFolder, 'tmp'), { recursive: true })
  writeFileSync(leftover, 'x')
  utimesSync(leftover, 1, 1)
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  assert.ok(!existsSync(leftover))
  await client.quit()
})

test('a folder that stands where the spool should be is disk trouble, not a crash', async (t) => {
  const { port, account, spoolFolder } = await startLmtp(t)
  mkdirSync(account.folder, { recursive: true })
  writeFileSync(spoolFolder, 'x')
  const client = await LmtpClient.connect(port)
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^451 4\.3\.0 /)
  await client.quit()
})

test('as many recipients as can be served at once, and refused, leave room for the next', async (t) => {
  const { port, add } = await startLmtp(t, {
    lmtp: { maxRecipients: 512 },
    alter: withoutKeyOfBob
  })
  await add('bob@example.org')
  const client = await LmtpClient.connect(port)
  const to = Array.from({ length: 512 }, (_, nth) => `bob+${nth}@example.org`)
  const replies = await client.deliver({ to, message: MESSAGE })
  assert.ok(replies.every((reply) => reply.startsWith('451 4.7.5 ')))
  assert.match(String(await client.deliver({ to: [ANN], message: MESSAGE })), /^250 /)
  await client.quit()
})
