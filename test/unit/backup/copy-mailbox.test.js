import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { copyMailbox } from '../../../src/backup/copy-mailbox.js'
import { KnownUnits } from '../../../src/backup/known-units.js'
import { onJsonLine, writeJsonLine } from '../../../src/backup/owner-protocol.js'
import { RateLimit } from '../../../src/backup/rate-limit.js'
import { Staging } from '../../../src/backup/staging.js'
import { readFreezeFile } from '../../../src/database/freeze-file.js'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { createAccountStore } from '../../../src/store/account-store.js'
import { systemClock } from '../../../src/support/clock.js'
import { appendOne, makeMessage, scratchFolder } from '../../helpers/account-folder.js'
import { sharesBlocks } from '../../helpers/shared-blocks.js'

const OWNER = fileURLToPath(new URL('../../helpers/backup-owner.js', import.meta.url))
const RUDE = fileURLToPath(new URL('../../helpers/rude-writer.js', import.meta.url))
const KEY = Buffer.alloc(32, 7)
/** Where files share blocks, a mailbox that somebody has open is copied in no time: nothing can happen meanwhile. */
const CLONES = sharesBlocks()
const ROUNDS = process.env['LETTERLOCK_TEST_TORTURE'] === '1' ? 50 : 4

/**
 * A mailbox that nobody has open. This process never opens it through SQLite again: as a backup, it reads it by `fs`.
 *
 * @param {import('node:test').TestContext} t
 * @param {RateLimit} [limit] - of reading
 */
async function mailbox(t, limit = new RateLimit(0)) {
  const root = await scratchFolder(t)
  const folder = join(root, 'account')
  const runFolder = join(root, 'run')
  const scratch = join(root, 'scratch')
  for (const made of [runFolder, scratch]) mkdirSync(made)
  const store = await createAccountStore({ folder, key: KEY, clock: systemClock })
  for (let i = 0; i < 10; i++) await appendOne(store, 'INBOX', makeMessage(`first ${i}`, 100_000))
  await store.close()
  const staging = await Staging.open(join(scratch, 'units'), limit)
  t.after(() => staging.close())

  /** @param {Partial<import('../../../src/backup/copy-mailbox.js').CopyOptions>} [options] */
  const copy = async (options = {}) => {
    await staging.rewind()
    return await copyMailbox({
      account: /** @type {any} */ ({ id: 'a', folder }),
      runFolder,
      scratchFolder: scratch,
      staging,
      known: new KnownUnits([]),
      previousStamp: null,
      clock: systemClock,
      onRead: () => {},
      ...options
    })
  }

  /**
   * @param {import('../../../src/backup/copy-mailbox.js').MailboxCopy} made
   * @param {string} name
   * @returns {Promise<string>} a folder with the copy in it
   */
  const place = async (made, name) => {
    const target = join(root, name)
    mkdirSync(target)
    for await (const { file, bytes } of staging.units([...made.spool, ...(made.mailbox ?? [])]))
      if (bytes) appendFileSync(join(target, file.path.replaceAll('/', '-')), bytes)
    return target
  }
  return { folder, runFolder, copy, place, staging }
}

/**
 * @param {string} folder
 * @returns {{ integrity: string, messages: number }}
 */
function look(folder) {
  const { db } = openEncryptedDatabase({
    path: join(folder, 'mail.db'),
    key: KEY,
    cipher: 'chacha20'
  })
  try {
    return {
      integrity: String(db.pragma('integrity_check', { simple: true })),
      messages: Number(db.prepare('SELECT count(*) FROM messages').pluck().get())
    }
  } finally {
    db.close()
  }
}

/**
 * @param {string} helper
 * @param {string[]} args
 */
async function start(helper, args) {
  const child = spawn(process.execPath, [helper, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  let acknowledged = 0
  let isReady = false
  const ready = new Promise((resolve) => {
    child.stdout.on('data', (chunk) => {
      acknowledged += String(chunk)
        .split('\n')
        .filter((line) => line.startsWith('ack')).length
      if (!isReady) resolve(undefined)
      isReady = true
    })
  })
  const closed = once(child, 'close')
  let isKilled = false
  // Who waits for what a dead one would say waits for ever.
  const failEnded = () => assert.ok(isKilled, `${helper} has ended by itself`)
  await Promise.race([ready, closed.then(failEnded)])
  return {
    child,
    acknowledged: () => {
      if (child.exitCode !== null || child.signalCode !== null) failEnded()
      return acknowledged
    },
    kill: async () => {
      isKilled = true
      child.kill('SIGKILL')
      await closed
    }
  }
}

test('a mailbox that nobody has open is copied as it lies', async (t) => {
  const { copy, place, folder } = await mailbox(t)
  const made = await copy()
  assert.deepEqual(look(await place(made, 'copy')), { integrity: 'ok', messages: 10 })
  assert.ok(made.stamp)
  assert.equal(readFreezeFile(folder), null)
  const again = await copy({ previousStamp: made.stamp })
  assert.equal(again.mailbox, null)
})

test('what a crash left in the -wal comes along', async (t) => {
  const { copy, place, folder, runFolder } = await mailbox(t)
  const owner = await start(OWNER, [folder, runFolder, 'a'])
  while (owner.acknowledged() < 20) await sleep(5)
  await owner.kill()
  const acknowledged = owner.acknowledged()
  assert.ok(statSync(join(folder, 'mail.db-wal')).size > 0)
  const made = await copy()
  assert.equal(made.stamp, null)
  const { integrity, messages } = look(await place(made, 'copy'))
  assert.equal(integrity, 'ok')
  assert.ok(messages >= 10 + acknowledged)
  // The killed owner's socket is gone as well.
  assert.deepEqual(await readdir(runFolder), [])
})

test('while its owner writes, every copy is whole and has all that was acknowledged before', async (t) => {
  const { copy, place, folder, runFolder } = await mailbox(t)
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

for (const habit of ['writes', 'checkpoints', 'closes', 'crashes'])
  for (const hasOwner of [true, false])
    test(`${hasOwner ? 'beside an owner' : 'alone'}, a second process that ${habit} all the time spoils no copy`, async (t) => {
      const { copy, place, folder, runFolder } = await mailbox(t)
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
    const { copy, place, folder, runFolder } = await mailbox(t, limit)
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

test('a process that comes in and answers to nobody spoils no copy of a closed mailbox', async (t) => {
  const { copy, place, folder } = await mailbox(t)
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
  const { copy, place, folder } = await mailbox(t, new InTheMidst(0))
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

test(
  'an owner that is killed while the copy is made: the copy is not taken, another try is',
  needsTime,
  async (t) => {
    const { copy, place, folder, runFolder } = await mailbox(t)
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
    const { copy, place, folder, runFolder } = await mailbox(t, limit)
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
  const { copy, place, runFolder } = await mailbox(t)
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
  const { copy, runFolder } = await mailbox(t)
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
  const { copy, folder, runFolder } = await mailbox(t)
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

test('mail that is set aside while the spool is read is in the copy', async (t) => {
  const { copy, folder } = await mailbox(t)
  const first = `${'a'.repeat(32)}.sealed`
  const second = `${'b'.repeat(32)}.sealed`
  mkdirSync(join(folder, 'spool', 'aside'), { recursive: true })
  for (const name of [first, second]) writeFileSync(join(folder, 'spool', name), 'x')
  let isMoved = false
  const made = await copy({
    onRead: () => {
      if (isMoved) return
      isMoved = true
      for (const name of [first, second])
        renameSync(join(folder, 'spool', name), join(folder, 'spool', 'aside', name))
    }
  })
  const paths = made.spool.map(({ path }) => path)
  assert.deepEqual(paths, [`spool/${first}`, `spool/aside/${second}`])
})

test('an account without a mailbox is damaged, and gets no mail.freeze', async (t) => {
  const { copy, folder } = await mailbox(t)
  const bytes = await readFile(join(folder, 'mail.db'))
  assert.ok(bytes.length > 0)
  rmSync(join(folder, 'mail.db'))
  await assert.rejects(copy(), { code: 'ACCOUNT_DAMAGED' })
  assert.equal(existsSync(join(folder, 'mail.freeze')), false)
})
