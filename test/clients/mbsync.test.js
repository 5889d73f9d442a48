import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  digestOf,
  fillMaildir,
  lettersOf,
  moveTo,
  readMaildir,
  setLetters,
  summary
} from '../helpers/maildir.js'
import {
  madeMessage,
  missing,
  readMailbox,
  run,
  sampleMessages,
  startMailServer,
  writeConfig
} from '../helpers/programs.js'

const isTorture = process.env.LETTERLOCK_TEST_TORTURE === '1'
const MESSAGES = isTorture ? 2000 : 300
const ROUNDS = isTorture ? 2 : 1

/** @typedef {import('../helpers/programs.js').MailServer} MailServer */
/** @typedef {import('../helpers/wire-client.js').WireClient} WireClient */

/**
 * A replica of two mailboxes.
 *
 * @param {MailServer} mail
 * @param {string} name - of the replica
 * @param {string} mailbox
 */
function makeReplica(mail, name, mailbox) {
  const folder = join(mail.scratch, name)
  mkdirSync(folder, { recursive: true })
  const config = writeConfig(join(mail.scratch, `mbsyncrc-${name}-${mailbox}`), [
    'IMAPAccount letterlock',
    'Host localhost',
    `Port ${mail.ports.imaps}`,
    'User anna@example.org',
    `PassCmd "cat ${mail.passwordFile}"`,
    'SSLType IMAPS',
    'SystemCertificates no',
    `CertificateFile ${mail.certificate}`,
    '',
    'IMAPStore remote',
    'Account letterlock',
    '',
    'MaildirStore local',
    `Path ${folder}/`,
    `Inbox ${folder}/INBOX`,
    'SubFolders Verbatim',
    '',
    'Channel all',
    'Far :remote:',
    'Near :local:',
    `Patterns ${mailbox} ${mailbox}/*`,
    'Create Both',
    'Remove Both',
    'Expunge Both',
    'CopyArrivalDate yes',
    'Sync All',
    'SyncState *'
  ])
  return {
    main: join(folder, mailbox),
    done: join(folder, mailbox, 'done'),
    sync: async () => {
      const { code, output } = await run('mbsync', ['-c', config, '-q', 'all'])
      assert.equal(code, 0, output)
      assert.equal(output, '', 'mbsync has nothing to complain about')
    }
  }
}

/**
 * @param {WireClient} client
 * @param {string} mailbox
 */
async function summaryOfServer(client, mailbox) {
  const messages = await readMailbox(client, mailbox)
  return summary(
    messages.map(({ bytes, flags }) => ({ digest: digestOf(bytes), letters: lettersOf(flags) }))
  )
}

/**
 * What a user does with mail in a Maildir: flags, deletes, moves, writes.
 *
 * @param {ReturnType<typeof makeReplica>} replica
 * @param {string} label
 */
function changeLocally({ main, done }, label) {
  const messages = readMaildir(main)
  const share = Math.floor(messages.length / 20)
  for (const message of messages.slice(0, share)) setLetters(message, 'FS')
  for (const message of messages.slice(share, share * 2)) setLetters(message, '')
  for (const { path } of messages.slice(share * 2, share * 3)) rmSync(path)
  for (const message of messages.slice(share * 3, share * 4)) moveTo(message, done)
  const written = [1, 2, 3, 4, 5].map((index) => ({ bytes: madeMessage(`${label}${index}`) }))
  fillMaildir(main, written, label)
}

/**
 * The same on the server, to other messages.
 *
 * @param {WireClient} client
 * @param {string} mailbox
 * @param {string} label
 */
async function changeRemotely(client, mailbox, label) {
  const uids = (await readMailbox(client, mailbox)).map(({ uid }) => uid).reverse()
  const share = Math.floor(uids.length / 20)
  const set = (/** @type {number} */ part) => uids.slice(part * share, (part + 1) * share).join(',')
  for (const command of [
    `SELECT ${mailbox}`,
    `UID STORE ${set(0)} +FLAGS.SILENT (\\Answered \\Flagged)`,
    `UID STORE ${set(1)} -FLAGS.SILENT (\\Seen)`,
    `UID STORE ${set(2)} +FLAGS.SILENT (\\Deleted)`,
    `UID EXPUNGE ${set(2)}`,
    `UID MOVE ${set(3)} ${mailbox}/done`
  ]) {
    assert.match(await client.command(command), /^w\d+ OK/m, command)
  }
  for (const index of [1, 2, 3]) {
    const answer = await client.command(`APPEND ${mailbox}`, madeMessage(`${label}-far${index}`))
    assert.match(answer, /OK \[APPENDUID/)
  }
}

test(
  'mbsync keeps two replicas and the server equal, by hash and by flags, through changes on every side',
  { skip: missing('mbsync') },
  async (t) => {
    const mail = await startMailServer(t)
    const client = await mail.login()
    const originals = sampleMessages(MESSAGES).map((bytes, index) => ({
      bytes,
      letters: ['', 'S', 'RS', 'FS', 'F'][index % 5] ?? ''
    }))
    for (let round = 1; round <= ROUNDS; round++) {
      const mailbox = `post${round}`
      const a = makeReplica(mail, 'a', mailbox)
      const b = makeReplica(mail, 'b', mailbox)
      const expectEqual = async (/** @type {string} */ when) => {
        for (const [part, name] of /** @type {const} */ ([
          ['main', mailbox],
          ['done', `${mailbox}/done`]
        ])) {
          const server = await summaryOfServer(client, name)
          assert.deepEqual(summary(readMaildir(a[part])), server, `${when}: a, ${part}`)
          assert.deepEqual(summary(readMaildir(b[part])), server, `${when}: b, ${part}`)
        }
      }

      fillMaildir(a.main, originals, 'up')
      fillMaildir(a.done, [{ bytes: madeMessage('first'), letters: 'S' }], 'done')
      const uploaded = summary(readMaildir(a.main))
      assert.equal(uploaded.length, MESSAGES)
      await a.sync()
      assert.deepEqual(await summaryOfServer(client, mailbox), uploaded, 'everything went up')
      await b.sync()
      await expectEqual('after the first synchronisation')

      changeLocally(b, 'b')
      await changeRemotely(client, mailbox, 'one')
      await b.sync()
      await a.sync()
      await expectEqual('after changes in b and on the server')

      changeLocally(a, 'a')
      await changeRemotely(client, mailbox, 'two')
      setLetters(/** @type {any} */ (readMaildir(b.main).at(-1)), 'FRS')
      for (const replica of [a, b, a]) await replica.sync()
      await expectEqual('after changes everywhere at once')

      const names = () => [a, b].map(({ main }) => readdirSync(join(main, 'cur')).sort())
      const before = { names: names(), server: await readMailbox(client, mailbox) }
      for (const replica of [a, b]) await replica.sync()
      assert.deepEqual(names(), before.names, 'one more synchronisation changes no file')
      assert.deepEqual(
        await readMailbox(client, mailbox),
        before.server,
        'and nothing on the server'
      )
    }
    assert.equal(await mail.server.stop(), 0)
    assert.doesNotMatch(mail.server.output(), /"level":"(warn|error)"/)
  }
)
