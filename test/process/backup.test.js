import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3-multiple-ciphers'
import { ANNA, backupServer, BEN, countOf, logIn, PASSWORD } from '../helpers/backup-server.js'
import {
  createAccounts,
  ENVIRONMENT,
  letterlock,
  MAIN,
  startServerProcess
} from '../helpers/process.js'
import { S3_ENVIRONMENT, skipWithoutS3, startS3Server } from '../helpers/s3-server.js'
import { deliver } from '../helpers/wire-client.js'

/** Words that stand nowhere else: any of them in a file is a leak. */
const MARKERS = ['quaggamarzipan', 'axolotlsextant', 'wombatperigee']
const [SUBJECT = '', BODY = '', FOLDER = ''] = MARKERS

/**
 * @param {number} number
 */
const message = (number) =>
  Buffer.from(
    `From: x@example.net\r\nSubject: ${SUBJECT} ${number}\r\nMessage-ID: <n${number}@example.net>\r\n\r\n` +
      `${BODY} ${number}\r\n`.repeat(50)
  )

/**
 * @param {string} folder
 * @param {string[]} words
 * @returns {string[]} the files below it that have one of the words
 */
function filesWith(folder, words) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const bytes = readFileSync(path)
      return words.some(
        (word) => bytes.includes(word) || bytes.includes(Buffer.from(word, 'utf16le'))
      )
    })
}

test('a host is backed up while it is used, and restored onto an empty folder; nothing in the clear on the way', async (t) => {
  const { root, data, target, backup, recoveryKey } = await backupServer(t)
  const server = await startServerProcess(t, { data })
  const anna = await logIn(server.ports.imap)
  await anna.command(`CREATE ${FOLDER}`)
  let sent = 0
  for (; sent < 20; sent++) await anna.command('APPEND INBOX', message(sent))
  // Ben is away: his mail waits in the spool.
  assert.match(
    await deliver(server.ports.lmtp, { to: BEN, message: message(1).toString() }),
    /^250/
  )
  const stop = new AbortController()
  const load = (async () => {
    while (!stop.signal.aborted) await anna.command('APPEND INBOX', message(sent++))
  })()
  const before = sent
  const run = await backup(['run'])
  stop.abort()
  await load
  assert.equal(run.code, 0, run.stderr)
  assert.match(run.stdout, /2 accounts, 0 failed/)
  assert.match((await backup(['list'])).stdout, /^\S+Z\t2 accounts/)
  assert.match((await backup(['verify'])).stdout, /ok\n$/)
  const opened = await backup(['verify', ANNA, '--password-stdin'], `${PASSWORD}\n`)
  assert.match(opened.stdout, /ok\n$/)
  assert.ok(Number(/: (\d+) messages/.exec(opened.stdout)?.[1]) >= before)
  assert.match((await backup(['nightly'])).stdout, /2 accounts restored \([^)]*\), 0 failed/)
  anna.destroy()
  await server.stop()
  assert.deepEqual(filesWith(root, MARKERS), [])
  assert.deepEqual(filesWith(target, [ANNA, BEN, PASSWORD, recoveryKey]), [])
  for (const word of [...MARKERS, recoveryKey]) assert.ok(!server.output().includes(word))

  renameSync(data, join(root, 'stolen'))
  rmSync(join(root, 'stolen'), { recursive: true })
  const restored = await backup(['restore', '--host', '--password-stdin'], `${recoveryKey}\n`)
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(restored.stdout, /^2 accounts restored/)
  assert.match(restored.stdout, /letterlock backup take-over\n$/)
  const refused = await backup(['nightly'])
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /belong to another host, .* letterlock backup take-over; /)
  assert.equal((await backup(['take-over'])).code, 2)
  const taken = await backup(['take-over', '--yes'])
  assert.match(taken.stdout, /^the backups in .* are made here from now on\n$/)
  assert.equal((await backup(['run'])).code, 0)
  const again = await startServerProcess(t, { data })
  const client = await logIn(again.ports.imap)
  const count = await countOf(client)
  assert.ok(count >= before, `${count} of ${before}`)
  await client.command('SELECT INBOX')
  assert.ok((await client.command(`UID FETCH 1:${before} (BODY.PEEK[])`)).includes(BODY))
  assert.match(await client.command(`SELECT ${FOLDER}`), /OK/)
  client.destroy()
  const ben = await logIn(again.ports.imap, BEN)
  assert.equal(await countOf(ben), 1)
  ben.destroy()
  await again.stop()
  assert.deepEqual(filesWith(root, MARKERS), [])
})

test('an account is restored beside a running server: its sessions end, mail that arrives meanwhile is there', async (t) => {
  const { data, backup, recoveryKey } = await backupServer(t)
  const server = await startServerProcess(t, { data })
  const first = await logIn(server.ports.imap)
  for (let i = 0; i < 5; i++) await first.command('APPEND INBOX', message(i))
  assert.equal((await backup(['run'])).code, 0)
  for (let i = 5; i < 8; i++) await first.command('APPEND INBOX', message(i))
  const uidNext = async (/** @type {import('../helpers/wire-client.js').WireClient} */ client) =>
    Number(/UIDNEXT (\d+)/.exec(await client.command('STATUS INBOX (UIDNEXT)'))?.[1])
  const before = await uidNext(first)
  await first.command('SELECT INBOX')

  assert.equal((await backup(['restore', ANNA, '--at', '2001-01-01'])).code, 2)
  const restored = await backup(['restore', ANNA, '--yes'])
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(await first.until(/\* BYE [^\r]*\r\n/), /restored/)
  assert.match(
    await deliver(server.ports.lmtp, { to: ANNA, message: message(99).toString() }),
    /^250/
  )
  const second = await logIn(server.ports.imap)
  while ((await countOf(second)) !== 6) await sleep(20)
  assert.ok((await uidNext(second)) > before)
  // The first login has started a check of everything, behind the user's back.
  const directory = new Database(join(data, 'directory.db'), { readonly: true })
  const checks = directory.prepare("SELECT detail FROM audit WHERE action = 'restore-checked'")
  while (checks.all().length === 0) await sleep(50)
  assert.match(String(checks.pluck().get()), /"problems":0/)
  directory.close()

  const folder = await backup(
    ['restore', ANNA, '--message-id', '<n3@example.net>', '--password-stdin'],
    `${PASSWORD}\n`
  )
  assert.match(folder.stdout, /^1 message restored into (Restored \S+\/INBOX)\n/)
  const name = /into (.*)\n/.exec(folder.stdout)?.[1] ?? ''
  while ((await countOf(second, name)) !== 1) await sleep(20)
  second.destroy()

  const copy = await backup(
    ['restore', BEN, '--as', 'ben2@example.org', '--password-stdin'],
    `${PASSWORD}\n`
  )
  assert.equal(copy.code, 0, copy.stderr)
  ;(await logIn(server.ports.imap, 'ben2@example.org')).destroy()
  assert.equal((await letterlock(['account', 'delete', BEN, '--yes', '--data', data])).code, 0)
  // The night after, the last backup has the account no more.
  await sleep(1000)
  assert.equal((await backup(['run'])).code, 0)
  const back = await backup(['restore', BEN, '--password-stdin'], `${recoveryKey}\n`)
  assert.equal(back.code, 0, back.stderr)
  ;(await logIn(server.ports.imap, BEN)).destroy()
  const nobody = ['restore', 'nobody@example.org', '--password-stdin']
  assert.equal((await backup(nobody, 'AGE\n')).code, 2)
  const { code, stderr } = await backup(nobody, `${recoveryKey}\n`)
  assert.equal(code, 1)
  assert.match(stderr, /nobody@example\.org is in none of 2 backups, 2\S+Z to 2\S+Z\n/)
})

test('a point in time and a folder come back, and a client that resynchronises is never misled', async (t) => {
  const { data, backup } = await backupServer(t, { TZ: 'Asia/Tokyo' })
  const server = await startServerProcess(t, { data })
  const first = await logIn(server.ports.imap)
  for (let i = 0; i < 3; i++) await first.command('APPEND INBOX', message(i))
  assert.equal((await backup(['run'])).code, 0)
  for (let i = 3; i < 6; i++) await first.command('APPEND INBOX', message(i))
  await sleep(1000)
  assert.equal((await backup(['run'])).code, 0)
  await first.command('ENABLE QRESYNC')
  await first.command('UID STORE 2 +FLAGS (\\Flagged)')
  const before = await first.command('SELECT INBOX (CONDSTORE)')
  const [, uidValidity] = /UIDVALIDITY (\d+)/.exec(before) ?? []
  const [, modSeq] = /HIGHESTMODSEQ (\d+)/.exec(before) ?? []
  const generations = (await backup(['list', '--json'])).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(generations.length, 2)

  // Just before the second began, by its name, which has whole seconds and is UTC: the first is meant.
  const at = new Date(Math.floor(generations[1].startedAtMs / 1000) * 1000 - 1).toISOString()
  const restored = await backup(['restore', ANNA, '--at', at.replace('Z', ''), '--yes'])
  assert.equal(restored.code, 0, restored.stderr)
  first.destroy()
  const second = await logIn(server.ports.imap)
  assert.equal(await countOf(second), 3)
  await second.command('ENABLE QRESYNC')
  const after = await second.command(`SELECT INBOX (QRESYNC (${uidValidity} ${modSeq} 1:6))`)
  // The folder is the one that the client knows; what is not there has gone, and every flag is told anew.
  assert.ok(after.includes(`UIDVALIDITY ${uidValidity}]`))
  assert.match(after, /\* VANISHED \(EARLIER\) 4:6\r\n/)
  assert.equal([...after.matchAll(/\* \d+ FETCH \(UID [123] FLAGS/g)].length, 3)
  assert.ok(Number(/HIGHESTMODSEQ (\d+)/.exec(after)?.[1]) > Number(modSeq))
  const appended = await second.command('APPEND INBOX', message(7))
  assert.ok(Number(/APPENDUID \d+ (\d+)/.exec(appended)?.[1]) > 6)

  const folder = await backup(
    ['restore', ANNA, '--folder', 'INBOX', '--generation', generations[1].name, '--password-stdin'],
    `${PASSWORD}\n`
  )
  assert.match(folder.stdout, /^6 messages restored into (Restored \S+\/INBOX)\n/)
  const name = /into (.*)\n/.exec(folder.stdout)?.[1] ?? ''
  while ((await countOf(second, name)) !== 6) await sleep(20)
  second.destroy()
})

test('one bad mailbox: exit code 1, its address for the operator, everybody else in the backup', async (t) => {
  const { root, data, backup, recoveryKey } = await backupServer(t)
  const folder = join(data, 'mail', 'example.org')
  const [bad = ''] = readdirSync(folder)
  rmSync(join(folder, bad, 'mail.db'))
  const run = await backup(['run'])
  assert.equal(run.code, 1)
  const [, address] =
    /^failed: ((?:anna|ben)@example\.org) \(ACCOUNT_DAMAGED\)$/m.exec(run.stderr) ?? []
  assert.ok(address, run.stderr)
  assert.match(run.stdout, /: 1 account, 1 failed/)
  // What a night says goes into the server's log, which has no addresses.
  const nightly = await backup(['nightly'])
  assert.equal(nightly.code, 1)
  assert.match(nightly.stderr, new RegExp(`^failed: account ${bad} \\(ACCOUNT_DAMAGED\\)$`, 'm'))
  assert.doesNotMatch(nightly.stderr + nightly.stdout, /@example\.org/)

  const restore = ['restore', '--host', '--password-stdin']
  const restored = await backup(restore, `${recoveryKey}\n`, join(root, 'fresh'))
  assert.equal(restored.code, 1)
  assert.ok(restored.stderr.includes(`not restored: ${address} (BACKUP_MISSING)\n`))
  assert.match(restored.stdout, /^1 account restored from \S+, 1 missing$/m)
})

test('a restore that waits for somebody to answer keeps no backup away', async (t) => {
  const { data, env, backup, recoveryKey } = await backupServer(t)
  assert.equal((await backup(['run'])).code, 0)
  assert.equal((await letterlock(['account', 'delete', BEN, '--yes', '--data', data])).code, 0)
  const child = spawn(
    process.execPath,
    [MAIN, 'backup', 'restore', BEN, '--password-stdin', '--data', data],
    { stdio: ['pipe', 'ignore', 'pipe'], env: { ...ENVIRONMENT, ...env } }
  )
  const [question] = await once(child.stderr, 'data')
  assert.match(String(question), /the recovery key of the backups is needed/)
  const { code, stderr } = await backup(['run'])
  assert.equal(code, 0, stderr)
  child.stdin.end(`${recoveryKey}\n`)
  assert.deepEqual(await once(child, 'close'), [0, null])
})

test('an account whose address another has by now comes back beside it; exit codes say what was done', async (t) => {
  const { data, target, backup, recoveryKey } = await backupServer(t)
  assert.equal((await backup(['run'])).code, 0)
  assert.equal((await letterlock(['account', 'delete', BEN, '--yes', '--data', data])).code, 0)
  await createAccounts(data, [BEN])
  const inPlace = await backup(['restore', BEN, '--yes'])
  assert.equal(inPlace.code, 2)
  assert.match(inPlace.stderr, /--as/)
  const args = ['restore', BEN, '--as', 'ben-old@example.org', '--password-stdin']
  const beside = await backup(args, `${recoveryKey}\n`)
  assert.equal(beside.code, 0, beside.stderr)
  assert.match(beside.stdout, /^ben-old@example\.org is back/)
  assert.match(
    beside.stderr,
    /^\S+Z does not have the account that is ben@example\.org now\. To look/
  )

  assert.equal((await backup(['rehearse', '--accounts', 'all'])).code, 2)
  assert.equal((await backup(['verify', 'nobody@example.org', '--password-stdin'])).code, 2)
  const [first = ''] = readdirSync(join(target, 'generations'))
  for (const pack of readdirSync(join(target, 'packs')))
    rmSync(join(target, 'packs', pack), { recursive: true })
  assert.equal((await backup(['verify', ANNA, '--password-stdin'], `${PASSWORD}\n`)).code, 1)
  assert.equal((await backup(['run'])).code, 0)
  writeFileSync(join(target, 'generations', first), '{')
  const list = await backup(['list'])
  assert.equal(list.code, 1)
  assert.match(list.stderr, /BACKUP|damaged/)
  assert.match(list.stdout, /^\S+Z\t3 accounts/)
})

test(
  'the same into object storage: backed up, pruned, verified, restored',
  { skip: skipWithoutS3 },
  async (t) => {
    const { endpoint, bucket, folder } = await startS3Server(t)
    const { root, data, backup, recoveryKey } = await backupServer(t, {
      ...S3_ENVIRONMENT,
      LETTERLOCK_BACKUP_S3_BUCKET: bucket,
      LETTERLOCK_BACKUP_S3_PREFIX: 'mail/host-1',
      LETTERLOCK_BACKUP_S3_ENDPOINT: endpoint,
      LETTERLOCK_BACKUP_S3_IS_PATH_STYLE: 'true'
    })
    const server = await startServerProcess(t, { data })
    const anna = await logIn(server.ports.imap)
    for (let i = 0; i < 10; i++) await anna.command('APPEND INBOX', message(i))
    assert.equal((await backup(['run'])).code, 0)
    for (let i = 10; i < 13; i++) await anna.command('APPEND INBOX', message(i))
    const nightly = await backup(['nightly'])
    assert.equal(nightly.code, 0, nightly.stderr)
    assert.match((await backup(['verify', '--all'])).stdout, /ok\n$/)
    anna.destroy()
    await server.stop()
    assert.deepEqual(filesWith(folder, [...MARKERS, ANNA, BEN]), [])
    assert.ok(readdirSync(join(folder, 'mail', 'host-1')).includes('packs'))
    const fresh = join(root, 'fresh')
    const restored = await backup(
      ['restore', '--host', '--password-stdin'],
      `${recoveryKey}\n`,
      fresh
    )
    assert.equal(restored.code, 0, restored.stderr)
    const again = await startServerProcess(t, { data: fresh })
    const client = await logIn(again.ports.imap)
    assert.equal(await countOf(client), 13)
    client.destroy()
  }
)
