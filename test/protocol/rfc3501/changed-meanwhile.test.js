/**
 * Other sessions append and expunge in the midst of a command: its answer is of one moment, or says that it is not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccountStore } from '../../../src/store/account-store.js'
import { sweepAll } from '../../helpers/account-folder.js'
import { storeBeside } from '../../helpers/beside.js'
import { SMALL_MESSAGE } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient } from '../../helpers/transcript.js'

const APPEND = `APPEND INBOX {${SMALL_MESSAGE.length}+}\r\n${SMALL_MESSAGE}`

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const server = await startImapServer(t)
  const [here, there] = await Promise.all([LineClient.connect(server), LineClient.connect(server)])
  for (const client of [here, there]) {
    await client.login()
    t.after(() => client.close())
  }
  for (let count = 0; count < 3; count++) await there.command(APPEND)
  return { server, here, there }
}

/**
 * Once, when the method of the store is called the next time.
 *
 * @param {import('node:test').TestContext} t
 * @param {'claimRecent' | 'changeFlags' | 'readBodies' | 'readMessages' | 'readPage' | 'readPreviews'} name
 * @param {() => Promise<unknown>} meanwhile
 */
function before(t, name, meanwhile) {
  const real = /** @type {Function} */ (AccountStore.prototype[name])
  const mocked = t.mock.method(
    AccountStore.prototype,
    name,
    /**
     * @this {AccountStore}
     * @param {unknown[]} given
     */
    async function (...given) {
      mocked.mock.restore()
      await meanwhile()
      return await real.apply(this, given)
    }
  )
}

test('EXISTS and UIDNEXT of a SELECT are of one moment, what comes meanwhile is told behind', async (t) => {
  const { here, there } = await setUp(t)
  before(t, 'claimRecent', () => there.command(APPEND))
  const lines = await here.command('SELECT INBOX')
  const told = lines.filter((line) => /EXISTS|UIDNEXT/.test(line))
  assert.equal(told[0], '* 3 EXISTS')
  assert.match(told[1] ?? '', /^\* OK \[UIDNEXT 4\]/)
  assert.equal(told[2], '* 4 EXISTS')
})

test('a STORE says so when others expunge a message of it meanwhile', async (t) => {
  const { here, there } = await setUp(t)
  await there.command('SELECT INBOX')
  await here.command('SELECT INBOX')
  before(t, 'changeFlags', async () => {
    await there.command('UID STORE 2 +FLAGS.SILENT (\\Deleted)')
    await there.command('EXPUNGE')
  })
  const lines = await here.command('STORE 1:3 +FLAGS ($Kept)')
  assert.ok(lines.some((line) => line.startsWith('* 1 FETCH')))
  assert.ok(!lines.some((line) => line.startsWith('* 2 FETCH')))
  assert.match(lines.at(-1) ?? '', /OK \[EXPUNGEISSUED\]/)
})

/** How the messages of a FETCH are read, by what it asks for. */
const READS = /** @type {const} */ ([
  ['readBodies', 'BODY.PEEK[]'],
  ['readPage', '(UID RFC822.SIZE INTERNALDATE)'],
  ['readBodies', 'BODY.PEEK[TEXT]'],
  ['readMessages', '(BODY.PEEK[TEXT] ENVELOPE)'],
  ['readMessages', 'PREVIEW'],
  ['readPreviews', 'PREVIEW']
])
for (const [method, items] of READS)
  test(`a FETCH of ${items} says so when others expunge a message before ${method} reads it`, async (t) => {
    const { server, here, there } = await setUp(t)
    for (let count = 4; count <= 20; count++) {
      // What is long is read by itself.
      const body = method === 'readPreviews' ? 'body\r\n'.repeat(25_000) : 'body\r\n'
      const message = `Subject: ${count}\r\n\r\n${body}`
      await there.command(`APPEND INBOX {${message.length}+}\r\n${message}`)
    }
    await there.command('SELECT INBOX')
    await here.command('SELECT INBOX')
    const store = await storeBeside(t, server)
    before(t, method, async () => {
      await there.command('UID STORE 7 +FLAGS.SILENT (\\Deleted)')
      await there.command('EXPUNGE')
      await sweepAll(store)
    })
    const lines = await here.command(`FETCH 1:20 ${items}`)
    const told = lines.flatMap((line) => /^\* (\d+) FETCH /.exec(line)?.[1] ?? [])
    const left = Array.from({ length: 20 }, (_, index) => index + 1).filter((uid) => uid !== 7)
    assert.deepEqual(told.map(Number), left)
    assert.match(lines.at(-1) ?? '', /OK \[EXPUNGEISSUED\]/)
  })

for (const items of ['BODY.PEEK[TEXT]', 'BODY.PEEK[HEADER.FIELDS (SUBJECT)]', 'BINARY.PEEK[1]'])
  test(`a FETCH of ${items} of a long message says so when others expunge it before its bytes are read`, async (t) => {
    const { server, here, there } = await setUp(t)
    const message = `Subject: long\r\n\r\n${'body '.repeat(100_000)}\r\n`
    await there.command(`APPEND INBOX {${message.length}+}\r\n${message}`)
    await there.command('SELECT INBOX')
    await here.command('SELECT INBOX')
    const store = await storeBeside(t, server)
    const real = AccountStore.prototype.readContent
    const mocked = t.mock.method(
      AccountStore.prototype,
      'readContent',
      /**
       * @this {AccountStore}
       * @param {Parameters<typeof real>} given
       */
      async function* (...given) {
        mocked.mock.restore()
        await there.command('UID STORE 4 +FLAGS.SILENT (\\Deleted)')
        await there.command('EXPUNGE')
        await sweepAll(store)
        yield* real.apply(this, given)
      }
    )
    const lines = await here.command(`FETCH 4 ${items}`)
    assert.ok(!lines.some((line) => line.includes(' FETCH ')), String(lines))
    assert.match(lines.at(-1) ?? '', /OK \[EXPUNGEISSUED\]/)
    assert.match((await here.command('NOOP')).join(), /\* 4 EXPUNGE/)
  })

test('LOGIN after a login is told what is wrong, with and without a mailbox', async (t) => {
  const { here } = await setUp(t)
  for (const command of ['NOOP', 'SELECT INBOX']) {
    await here.command(command)
    assert.match((await here.command('LOGIN a b')).at(-1) ?? '', /BAD .*Already logged in/)
  }
})

test('CLOSE expunges also what another process has marked a moment ago (RFC 3501 §6.4.2)', async (t) => {
  const { server, here, there } = await setUp(t)
  const other = await storeBeside(t, server)
  await here.command('SELECT INBOX')
  const { view } = await other.openView('INBOX')
  await other.changeFlags({ view, uids: [2], action: 'add', flags: ['\\Deleted'] })
  await here.command('CLOSE')
  assert.ok((await there.command('SELECT INBOX')).includes('* 2 EXISTS'))
})
