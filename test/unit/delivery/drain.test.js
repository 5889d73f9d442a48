import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { listSpool } from '../../../src/delivery/spool.js'
import { MailError } from '../../../src/errors.js'
import { NOTHING, altered, readInbox, setUp } from '../../helpers/drain.js'

test('sealed mail comes into INBOX byte for byte, in the order of arrival, unseen, dated by its arrival', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  const messages = [
    'Subject: one\r\n\r\none\r\n',
    Buffer.from('bare\nlf \0 and 8 bit ä\n'),
    Buffer.alloc(700_000, 'Subject: large\r\n\r\nlines and lines\r\n'),
    ''
  ]
  for (const message of messages) await put(message)
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 4 })
  const inbox = await readInbox(store)
  assert.equal(inbox.length, 4)
  inbox.forEach(({ bytes, internalDate }, i) => {
    assert.ok(bytes.equals(Buffer.from(/** @type {any} */ (messages[i]))), `${i}`)
    assert.deepEqual(internalDate, { epochSeconds: 1_700_000_000, zoneMinutes: 0 })
  })
  assert.equal((await store.mailboxStatus('INBOX')).unseenCount, 4)
  assert.deepEqual(await listSpool(spoolFolder), [])
  assert.deepEqual(await store.listDrained(), [])
})

test('an empty spool, or none, drains to nothing', async (t) => {
  const { drain } = await setUp(t)
  assert.deepEqual(await drain(), NOTHING)
})

test('more than a batch is drained in order', async (t) => {
  const { put, drain, store } = await setUp(t)
  for (let i = 0; i < 40; i++) await put(`Subject: ${i}\r\n\r\n`)
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 40 })
  const subjects = (await readInbox(store)).map(({ bytes }) => bytes.toString())
  assert.deepEqual(
    subjects,
    Array.from({ length: 40 }, (_, i) => `Subject: ${i}\r\n\r\n`)
  )
})

test('a limit of bytes leaves what is larger, and what came after it, to the next run', async (t) => {
  const { put, drain, store } = await setUp(t)
  await put('a')
  const { bytes } = await put(randomBytes(100_000))
  await put('b')
  const limited = await drain({ limit: 200, limitBytes: bytes })
  assert.deepEqual(limited, { ...NOTHING, delivered: 1, remaining: 2 })
  assert.deepEqual(await drain({ limitBytes: bytes - 1 }), { ...NOTHING, remaining: 2 })
  assert.deepEqual(await drain({ limitBytes: bytes }), { ...NOTHING, delivered: 1, remaining: 1 })
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 1 })
  assert.deepEqual(
    (await readInbox(store)).map((mail) => mail.bytes.length),
    [1, 100_000, 1]
  )
})

test('a limit takes the oldest and tells what remains', async (t) => {
  const { put, drain, store } = await setUp(t)
  for (const text of ['a', 'b', 'c']) await put(text)
  assert.deepEqual(await drain({ limit: 2 }), { ...NOTHING, delivered: 2, remaining: 1 })
  assert.deepEqual(
    (await readInbox(store)).map(({ bytes }) => bytes.toString()),
    ['a', 'b']
  )
})

test('draining never refuses for the quota', async (t) => {
  const { put, drain } = await setUp(t, { quotaBytes: 10 })
  await put('x'.repeat(1000))
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 1 })
})

test('what was in INBOX when the process died before the unlink comes in once', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  await put('once')
  const dying = altered(store, {
    appendMessages: async (name, messages, options) => {
      await store.appendMessages(name, messages, options)
      throw new MailError('SHUTTING_DOWN')
    }
  })
  const result = await drain({ store: dying })
  assert.deepEqual(result, { ...NOTHING, remaining: 1, stoppedBy: 'SHUTTING_DOWN' })
  assert.equal((await listSpool(spoolFolder)).length, 1)
  await put('another')
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 1 })
  assert.deepEqual(
    (await readInbox(store)).map(({ bytes }) => bytes.toString()),
    ['once', 'another']
  )
  assert.deepEqual(await store.listDrained(), [])
})

for (const isSpoolThere of [true, false])
  test(`what was unlinked when the process died before the forgetting is forgotten by the next run, the spool ${isSpoolThere ? 'there' : 'gone, as after a restore under another name'}`, async (t) => {
    const { put, drain, store, spoolFolder } = await setUp(t)
    await put('once')
    const dying = altered(store, {
      forgetDrained: async () => {
        throw new Error('killed')
      }
    })
    await assert.rejects(drain({ store: dying }), /killed/)
    assert.equal((await store.listDrained()).length, 1)
    if (!isSpoolThere) rmSync(spoolFolder, { recursive: true })
    assert.deepEqual(await drain(), NOTHING)
    assert.deepEqual(await store.listDrained(), [])
    assert.equal((await readInbox(store)).length, 1)
  })

test('the file is in the spool until the store says that the message is durable', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  const { name } = await put('x')
  const path = join(spoolFolder, name)
  /** @type {string[]} */
  const order = []
  const watched = altered(store, {
    appendMessages: async (mailbox, messages, options) => {
      const result = await store.appendMessages(mailbox, messages, options)
      order.push(`appended, file there: ${existsSync(path)}`)
      return result
    },
    forgetDrained: async (spoolNames) => {
      order.push(`forgets, file there: ${existsSync(path)}`)
      await store.forgetDrained(spoolNames)
    }
  })
  await drain({ store: watched })
  assert.deepEqual(order, ['appended, file there: true', 'forgets, file there: false'])
})

test('drains of one store run one after the other and deliver nothing twice', async (t) => {
  const { put, drain, store } = await setUp(t)
  for (let i = 0; i < 10; i++) await put(`${i}`)
  const results = await Promise.all([drain(), drain(), drain()])
  assert.equal(
    results.reduce((sum, { delivered }) => sum + delivered, 0),
    10
  )
  assert.equal((await readInbox(store)).length, 10)
})

test('two handles that drain one spool at a time deliver nothing twice', async (t) => {
  const { put, drain, store, reopen } = await setUp(t)
  const other = await reopen()
  for (let i = 0; i < 10; i++) await put(`${i}`)
  // The second may find a file gone and stop; it delivers nothing twice, and loses nothing.
  await Promise.all([drain(), drain({ store: other })])
  await drain()
  await store.pollOtherProcesses()
  assert.equal((await readInbox(store)).length, 10)
})

test('two processes that drain one spool at once bring each message in once', async (t) => {
  const { put, drain, reopen, spoolFolder, store } = await setUp(t)
  const other = await reopen()
  for (const n of [1, 2, 3]) await put(`Subject: ${n}\r\n\r\nbody\r\n`)
  /** @type {() => void} */
  let letGo = () => {}
  const heldBack = new Promise((resolve) => {
    letGo = () => resolve(undefined)
  })
  /** @type {() => void} */
  let noteStaged = () => {}
  const staged = new Promise((resolve) => {
    noteStaged = () => resolve(undefined)
  })
  // The other process has read all files, and comes to its transaction when the first has forgotten their names.
  const slow = new Proxy(other, {
    get: (target, name) => {
      if (name === 'appendMessages') {
        return async (/** @type {Parameters<typeof other.appendMessages>} */ ...args) => {
          noteStaged()
          await heldBack
          return await other.appendMessages(...args)
        }
      }
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
  const late = drain({ store: slow })
  await staged
  assert.deepEqual(await drain(), { delivered: 3, setAside: 0, remaining: 0, stoppedBy: null })
  letGo()
  assert.deepEqual(await late, { delivered: 0, setAside: 0, remaining: 0, stoppedBy: null })
  assert.equal((await listSpool(spoolFolder)).length, 0)
  const { view } = await store.openView('INBOX')
  assert.equal(view.length, 3)
})
