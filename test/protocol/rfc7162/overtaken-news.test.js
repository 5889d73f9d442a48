/**
 * While news are told, others go on: what a client has by then must not make it believe that it knows more than it does.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccountStore } from '../../../src/store/account-store.js'
import { SMALL_MESSAGE } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient } from '../../helpers/transcript.js'

const APPEND = `APPEND INBOX {${SMALL_MESSAGE.length}+}\r\n${SMALL_MESSAGE}`

/** @param {import('../../helpers/server.js').TestServer} server */
async function connected(server) {
  const client = await LineClient.connect(server)
  await client.login()
  await client.command('ENABLE QRESYNC')
  return client
}

/**
 * @param {string[]} lines
 * @returns {number} what a client takes for its HIGHESTMODSEQ after them: the last that it was told, or the highest MODSEQ
 */
function knownModSeq(lines) {
  const text = lines.join('\n')
  const told = [...text.matchAll(/HIGHESTMODSEQ (\d+)/g)].at(-1)?.[1]
  return Number(
    told ?? Math.max(...[...text.matchAll(/MODSEQ \((\d+)\)/g)].map(([, n]) => Number(n)))
  )
}

test('a connection that is lost after NOOP loses no expunge and no flag (RFC 7162 §3.2)', async (t) => {
  const server = await startImapServer(t)
  const here = await connected(server)
  for (let count = 0; count < 4; count++) await here.command(APPEND)
  const selected = await here.command('SELECT INBOX')
  const uidValidity = /UIDVALIDITY (\d+)/.exec(selected.join('\n'))?.[1]
  const there = await connected(server)
  await there.command('SELECT INBOX')

  await there.command('UID STORE 1 +FLAGS.SILENT ($First)')
  await there.command(APPEND)

  const { claimRecent } = AccountStore.prototype
  const meanwhile = t.mock.method(
    AccountStore.prototype,
    'claimRecent',
    /**
     * @this {AccountStore}
     * @param {Parameters<typeof claimRecent>[0]} view
     */
    async function (view) {
      meanwhile.mock.restore()
      await there.command('STORE 2 +FLAGS.SILENT (\\Deleted)')
      await there.command('UID EXPUNGE 2')
      await there.command('UID STORE 1,3 +FLAGS.SILENT ($Second)')
      return await claimRecent.call(this, view)
    }
  )
  const news = await here.command('NOOP')
  const first = news.find((line) => line.startsWith('* 1 FETCH')) ?? ''
  assert.match(first, /\$First \$Second/, 'as it is when it is written')
  assert.ok(!news.some((line) => line.startsWith('* VANISHED')))
  const known = knownModSeq(news)
  here.close()

  const again = await connected(server)
  const missed = (await again.command(`SELECT INBOX (QRESYNC (${uidValidity} ${known}))`)).join(
    '\n'
  )
  assert.match(missed, /\* VANISHED \(EARLIER\) 2$/m)
  assert.match(missed, /\* 2 FETCH \(UID 3 FLAGS \(\$Second\)/)
  again.close()
  there.close()
})
