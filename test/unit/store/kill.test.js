/**
 * kill -9 at any moment: what was acknowledged is there, and no UID is given twice.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { openAccountStore } from '../../../src/store/account-store.js'
import { systemClock } from '../../../src/support/clock.js'
import { aliveUids, makeMessage, readBytes } from '../../helpers/account-folder.js'

const ROUNDS = process.env.LETTERLOCK_TEST_TORTURE ? 200 : 10
const CHILD = fileURLToPath(new URL('../../helpers/append-loop.js', import.meta.url))

/**
 * Lets the child work for a while and kills it.
 *
 * @param {string} folder
 * @returns {Promise<string[]>} the whole lines that it has printed
 */
async function runAndKill(folder) {
  const child = spawn(process.execPath, [CHILD, folder, '100000'], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  const closed = once(child, 'close')
  while (!output.includes('ready\n')) await once(child.stdout, 'data')
  setTimeout(() => child.kill('SIGKILL'), randomInt(5, 250))
  await closed
  return output.split('\n').slice(0, -1)
}

test(`after ${ROUNDS} times kill -9 every acknowledged message is there, and the file is sound`, async (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'letterlock-test-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const folder = join(parent, 'account')
  /** @type {Map<number, string>} acknowledged and not reported as expunged: UID → text */
  const expected = new Map()
  const given = new Set()
  const flagged = new Set()
  let acknowledged = 0
  // Where the disk is slow it takes more of them.
  const isEnough = () => acknowledged > ROUNDS
  for (let round = 0; round < ROUNDS || (!isEnough() && round < 20 * ROUNDS); round++) {
    for (const line of await runAndKill(folder)) {
      const [kind, value = '', text = ''] = line.split(' ')
      if (kind === 'ack') {
        assert.equal(given.has(value), false, `UID ${value} was given twice`)
        given.add(value)
        expected.set(Number(value), text)
        acknowledged++
      } else if (kind === 'flag') flagged.add(Number(value))
      else if (kind === 'gone') for (const uid of value.split(',')) expected.delete(Number(uid))
    }
    const store = await openAccountStore({ folder, key: Buffer.alloc(32, 7), clock: systemClock })
    const { view, mailbox } = await store.openView('INBOX')
    const alive = new Set(aliveUids(view))
    for (const [uid, text] of expected) {
      // An expunge may have been committed and not yet reported when the end came; only flagged messages go so.
      if (!alive.has(uid)) {
        assert.ok(flagged.has(uid), `UID ${uid} is lost`)
        expected.delete(uid)
        continue
      }
      if (round >= ROUNDS - 1 || round % 10 === 0) {
        const bytes = await readBytes(store, view, uid)
        const size = bytes.length > 100_000 ? 700_000 : 0
        assert.ok(bytes.equals(makeMessage(text, size)), `UID ${uid} has other bytes`)
      }
    }
    for (const uid of given) assert.ok(Number(uid) < mailbox.uidNext)
    // One message may have been committed and not yet acknowledged: it stays, and its UID is not given again.
    for (const uid of alive) given.add(String(uid))
    if (round >= ROUNDS - 1) assert.deepEqual((await store.verify()).problems, [])
    else assert.deepEqual(await store.upkeep.quickCheck(), [])
    await store.close()
  }
  assert.ok(isEnough(), `only ${acknowledged} messages were acknowledged`)
})
