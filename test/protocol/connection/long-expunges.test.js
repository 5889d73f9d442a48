/** What one client is told of thousands of messages that have gone does not keep the others waiting until it is all said. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedIn, selectMany } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { turnsDuring } from '../../helpers/turns.js'

const DOUBLINGS = 14
const MESSAGES = 2 ** DOUBLINGS
/** Each stands alone, so that VANISHED has a number for each. */
const ODD = Array.from({ length: MESSAGES / 2 }, (_, index) => 2 * index + 1)

test('EXPUNGE and VANISHED of thousands of messages let others have their turn', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  await selectMany(client, DOUBLINGS)
  const [plain, quick] = [await loggedIn(t, server), await loggedIn(t, server)]
  await plain.command('SELECT INBOX')
  await quick.command('ENABLE QRESYNC')
  const selected = await quick.command('SELECT INBOX')
  const uidValidity = /UIDVALIDITY (\d+)/.exec(selected)?.[1]
  const modSeq = /HIGHESTMODSEQ (\d+)/.exec(selected)?.[1]
  await client.command(`UID STORE ${ODD.join(',')} +FLAGS.SILENT (\\Deleted)`)
  for (const other of [plain, quick]) await other.command('NOOP')
  assert.match(await client.command('EXPUNGE'), /w\d+ OK/)

  const told = await turnsDuring(t, () => plain.command('NOOP'))
  assert.deepEqual(numbersOf(told.answer, / (\d+) EXPUNGE/g), [...ODD].reverse())
  const vanished = await turnsDuring(t, () => quick.command('NOOP'))
  assert.deepEqual(numbersOf(vanished.answer, /[ ,](\d+)/g), ODD)
  await quick.command('UNSELECT')
  const earlier = await turnsDuring(t, () =>
    quick.command(`SELECT INBOX (QRESYNC (${uidValidity} ${modSeq}))`)
  )
  const lines = earlier.answer.match(/VANISHED \(EARLIER\) .*/g) ?? []
  assert.deepEqual(numbersOf(lines.join('\n'), /[ ,](\d+)/g), ODD)
  for (const [what, { turns }] of Object.entries({ told, vanished, earlier }))
    assert.ok(turns >= ODD.length / 1000, `${what}: ${turns} turns`)
})

/**
 * @param {string} answer
 * @param {RegExp} pattern
 * @returns {number[]}
 */
function numbersOf(answer, pattern) {
  return Array.from(answer.matchAll(pattern), ([, number]) => Number(number))
}
