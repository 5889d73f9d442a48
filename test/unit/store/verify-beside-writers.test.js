import assert from 'node:assert/strict'
import test from 'node:test'
import { appendAll, temporaryStore } from '../../helpers/temporary-store.js'

const MAILBOXES = 400

test('a mailbox that is written to while all of it is checked is found whole', async (t) => {
  const store = await temporaryStore(t)
  for (let n = 0; n < MAILBOXES; n++) await store.createMailbox(`m${n}`)
  const over = new AbortController()
  let written = 0
  const write = async (/** @type {string} */ mailbox) => {
    while (!over.signal.aborted) {
      const bytes = Buffer.from(`Subject: ${written++}\r\n\r\nwords\r\n`)
      await appendAll(store, mailbox, [{ bytes }])
    }
  }
  const writers = Promise.all([100, 200, 300, MAILBOXES - 1].map((n) => write(`m${n}`)))
  const isEnough = () => written > 10
  const problems = new Set()
  // Where the disk is slow it takes more of them.
  for (let round = 0; round < 10 || (!isEnough() && round < 100); round++) {
    for (const problem of (await store.verify()).problems) problems.add(problem)
  }
  over.abort()
  await writers
  assert.ok(isEnough())
  assert.deepEqual([...problems], [])
})
