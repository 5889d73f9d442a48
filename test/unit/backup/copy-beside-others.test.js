/**
 * A mailbox is copied beside processes that hold nothing still.
 */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimit } from '../../../src/backup/rate-limit.js'
import { OWNER, ROUNDS, RUDE, look, mailboxToCopy, start } from '../../helpers/copied-mailbox.js'

for (const habit of ['writes', 'checkpoints', 'closes', 'crashes'])
  for (const hasOwner of [true, false])
    test(`${hasOwner ? 'beside an owner' : 'alone'}, a second process that ${habit} all the time spoils no copy`, async (t) => {
      const { copy, place, folder, runFolder } = await mailboxToCopy(t)
      const owner = hasOwner ? await start(OWNER, [folder, runFolder, 'a']) : null
      const over = new AbortController()
      const rude = (async () => {
        while (!over.signal.aborted) {
          const one = await start(RUDE, [folder, habit === 'crashes' ? 'writes' : habit])
          // In the midst of whatever it does then.
          const lifeMs = habit === 'crashes' ? Math.random() * 100 : Infinity
          for (let ms = 0; ms < lifeMs && !over.signal.aborted; ms += 5) await sleep(5)
          await one.kill()
        }
      })()
      // Where nobody holds it still, each takes its time.
      const rounds = hasOwner ? ROUNDS : Math.ceil(ROUNDS / 4)
      let copies = 0
      try {
        for (let round = 0; round < rounds; round++) {
          const before = owner?.acknowledged() ?? 0
          const made = await copy().catch((error) => {
            // Nobody holds the file still: none may be made at all, but never a wrong one.
            assert.equal(error.code, 'BUSY')
            assert.equal(hasOwner, false)
            return null
          })
          if (made === null) break
          copies++
          const { integrity, messages } = look(await place(made, `copy ${round}`))
          assert.equal(integrity, 'ok')
          assert.ok(messages >= 10 + before)
        }
      } finally {
        over.abort()
        await rude
        await owner?.kill()
      }
      t.diagnostic(`${copies} of ${rounds} copies were made`)
    })

test('a process that comes in and answers to nobody spoils no copy of a closed mailbox', async (t) => {
  const { copy, place, folder } = await mailboxToCopy(t)
  /** @type {Awaited<ReturnType<typeof start>> | null} */
  let rude = null
  // It begins to write while the file is being read; it holds no lock that would keep the backup out.
  const slow = copy({
    onRead: () => {
      rude ??= /** @type {any} */ (start(RUDE, [folder]))
    }
  })
  setTimeout(async () => (await rude)?.kill(), 1500)
  const made = await slow
  await /** @type {any} */ (await rude)?.kill()
  assert.equal(look(await place(made, 'copy')).integrity, 'ok')
})

test('a -wal that a process without manners begins anew while it is being read spoils no copy', async (t) => {
  let reads = 0
  /** @type {Awaited<ReturnType<typeof start>> | null} */
  let rude = null
  class InTheMidst extends RateLimit {
    /** @override */
    async take() {
      if (reads++ !== 1 || rude === null) return
      rude.child.stdin.write('\n')
      while (rude.acknowledged() === 0) await sleep(5)
    }
  }
  const { copy, place, folder } = await mailboxToCopy(t, new InTheMidst(0))
  rude = await start(RUDE, [folder, 'restarts'])
  try {
    const path = join(folder, 'mail.db')
    const { mtimeMs } = statSync(path)
    const made = await copy()
    assert.equal(rude.acknowledged(), 1)
    // The file says nothing of it: what was written lies in the -wal alone.
    assert.equal(statSync(path).mtimeMs, mtimeMs)
    assert.deepEqual(look(await place(made, 'copy')), { integrity: 'ok', messages: 10 })
  } finally {
    await rude.kill()
  }
})
