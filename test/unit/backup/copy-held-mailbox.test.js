/**
 * A mailbox is copied that its owner holds still, as long as it does.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onJsonLine, writeJsonLine } from '../../../src/backup/owner-protocol.js'
import { RateLimit } from '../../../src/backup/rate-limit.js'
import { OWNER, ROUNDS, look, mailboxToCopy, start } from '../../helpers/copied-mailbox.js'
import { sharesBlocks } from '../../helpers/shared-blocks.js'

/** Where files share blocks, a mailbox that somebody has open is copied in no time: nothing can happen meanwhile. */
const CLONES = sharesBlocks()

test('while its owner writes, every copy is whole and has all that was acknowledged before', async (t) => {
  const { copy, place, folder, runFolder } = await mailboxToCopy(t)
  const owner = await start(OWNER, [folder, runFolder, 'a'])
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const before = owner.acknowledged()
      const made = await copy()
      assert.equal(made.stamp, null)
      assert.deepEqual(
        made.mailbox?.map(({ path }) => path),
        ['mail.db']
      )
      const { integrity, messages } = look(await place(made, `copy ${round}`))
      assert.equal(integrity, 'ok')
      assert.ok(messages >= 10 + before)
      await sleep(30)
    }
  } finally {
    await owner.kill()
  }
})

/** Something happens before the first byte is read. */
class LateAtFirst extends RateLimit {
  reads = 0
  before = async () => {}

  /** @override */
  async take() {
    if (this.reads++ === 0) await this.before()
  }
}

const needsTime = { skip: CLONES ? 'files share blocks here' : false }

test(
  'a copy that takes longer than its owner holds the mailbox is discarded, another try is not',
  needsTime,
  async (t) => {
    const limit = new LateAtFirst(0)
    const { copy, place, folder, runFolder } = await mailboxToCopy(t, limit)
    const owner = await start(OWNER, [folder, runFolder, 'a'])
    try {
      const before = owner.acknowledged()
      const path = join(folder, 'mail.db')
      const { mtimeMs } = statSync(path)
      limit.before = async () => {
        const held = statSync(path).mtimeMs
        while (statSync(path).mtimeMs === held || owner.acknowledged() <= before + 20)
          await sleep(20)
      }
      const made = await copy({ holdMs: 2000 })
      // The owner went on meanwhile, and moved what it wrote into the file.
      assert.ok(statSync(path).mtimeMs > mtimeMs)
      assert.ok(limit.reads >= 2, `${limit.reads} reads`)
      const { integrity, messages } = look(await place(made, 'copy'))
      assert.equal(integrity, 'ok')
      assert.ok(messages > 10 + before + 20, 'it is of before the deadline')
    } finally {
      await owner.kill()
    }
  }
)

test(
  'an owner that is killed while the copy is made: the copy is not taken, another try is',
  needsTime,
  async (t) => {
    const { copy, place, folder, runFolder } = await mailboxToCopy(t)
    const owner = await start(OWNER, [folder, runFolder, 'a'])
    let tries = 0
    const made = await copy({
      onRead: async () => {
        tries += 1
        if (tries === 1) await owner.kill()
      }
    })
    const { integrity, messages } = look(await place(made, 'copy'))
    assert.equal(integrity, 'ok')
    assert.ok(messages >= 10 + owner.acknowledged())
  }
)

test(
  'where files share blocks, the copy is of the moment before it is read, whatever becomes of the owner then',
  { skip: CLONES ? false : 'files share no blocks here' },
  async (t) => {
    const limit = new LateAtFirst(0)
    const { copy, place, folder, runFolder } = await mailboxToCopy(t, limit)
    const owner = await start(OWNER, [folder, runFolder, 'a'])
    t.after(owner.kill)
    const before = owner.acknowledged()
    limit.before = async () => {
      const goal = owner.acknowledged() + 50
      while (owner.acknowledged() < goal) await sleep(5)
      await owner.kill()
    }
    const made = await copy()
    assert.equal(made.stamp, null)
    const { integrity, messages } = look(await place(made, 'copy'))
    assert.equal(integrity, 'ok')
    assert.ok(messages >= 10 + before)
    assert.ok(messages < 10 + owner.acknowledged() - 20, 'it is of later')
  }
)

/**
 * An owner with a will of its own.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} runFolder
 * @param {(op: string) => string | null} answer - null: silence, and the end of the connection
 */
async function strangeOwner(t, runFolder, answer) {
  /** @type {string[]} */
  const asked = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onJsonLine(socket, ({ op }) => {
      if (op === 'ping') return writeJsonLine(socket, { state: 'alive' })
      asked.push(op)
      const state = answer(op)
      if (state === null) socket.destroy()
      else writeJsonLine(socket, { state })
    })
  })
  server.listen(join(runFolder, `owner-1-${randomBytes(4).toString('hex')}.sock`))
  await once(server, 'listening')
  t.after(() => server.close())
  return asked
}

test('a hold that was broken, for instance at its deadline, discards the copy although nothing changed', async (t) => {
  const { copy, place, runFolder } = await mailboxToCopy(t)
  let thaws = 0
  const asked = await strangeOwner(t, runFolder, (op) => {
    if (op !== 'thaw') return 'held'
    thaws += 1
    return thaws === 1 ? 'broken' : 'unbroken'
  })
  const made = await copy()
  assert.deepEqual(asked, ['freeze', 'thaw', 'freeze', 'thaw'])
  assert.equal(look(await place(made, 'copy')).integrity, 'ok')
})

test('an owner that goes silent at the thaw gives no copy', async (t) => {
  const { copy, runFolder } = await mailboxToCopy(t)
  let isSilent = true
  const asked = await strangeOwner(t, runFolder, (op) => {
    if (op === 'freeze') return isSilent ? 'held' : 'closed'
    isSilent = false
    return null
  })
  const made = await copy()
  assert.deepEqual(asked, ['freeze', 'thaw', 'freeze'])
  assert.ok(made.stamp)
})

test('a file that changes under a hold discards the copy, whatever the owner says', async (t) => {
  const { copy, folder, runFolder } = await mailboxToCopy(t)
  let thaws = 0
  await strangeOwner(t, runFolder, (op) => {
    if (op === 'thaw' && thaws++ === 0) appendFileSync(join(folder, 'mail.db'), '')
    if (op === 'thaw' && thaws === 1) {
      const bytes = Buffer.alloc(1)
      writeFileSync(join(folder, 'mail.db'), bytes, { flag: 'r+' })
    }
    return op === 'thaw' ? 'unbroken' : 'held'
  })
  await copy()
  assert.equal(thaws, 2)
})
