import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateSealIdentity, identityFromSecret } from '../../../src/crypto/age.js'
import { drainSpool } from '../../../src/delivery/drain.js'
import {
  listAside,
  listSpool,
  retryAsideFile,
  writeSpoolFile
} from '../../../src/delivery/spool.js'
import { MailError } from '../../../src/errors.js'
import { createAccountStore, openAccountStore } from '../../../src/store/account-store.js'
import { systemClock } from '../../../src/support/clock.js'
import { silentLogger } from '../../helpers/delivery.js'

const RECEIVED_AT_MS = 1_700_000_000_999

/**
 * A new account's store and spool.
 *
 * @param {import('node:test').TestContext} t
 * @param {{ quotaBytes?: number, maxMessageBytes?: number }} [config]
 */
async function setUp(t, config = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-drain-'))
  const key = randomBytes(32)
  const { secret, publicKey } = generateSealIdentity()
  const identities = [identityFromSecret(secret)]
  const spoolFolder = join(folder, 'spool')
  const options = { folder, key, clock: systemClock, config }
  const store = await createAccountStore(options)
  const stores = [store]
  t.after(async () => {
    for (const each of stores) await each.close()
    rmSync(folder, { recursive: true })
  })
  return {
    folder,
    spoolFolder,
    store,
    publicKey,
    identities,
    reopen: async () => {
      const again = await openAccountStore(options)
      stores.push(again)
      return again
    },
    /** @param {string | Buffer} message */
    put: (message) =>
      writeSpoolFile({
        spoolFolder,
        publicKey,
        envelope: { recipient: 'ann@example.org', sender: '', receivedAtMs: RECEIVED_AT_MS },
        message: [Buffer.from(message)]
      }),
    /** @param {Partial<import('../../../src/delivery/drain.js').DrainOptions>} [more] */
    drain: (more) => drainSpool({ spoolFolder, identities, store, logger: silentLogger, ...more })
  }
}

/** @param {import('../../../src/store/account-store.js').AccountStore} store */
async function readInbox(store) {
  const { view, mailbox } = await store.openView('INBOX')
  const uids = [...view.uids.subarray(0, view.length)]
  const records = await store.readMessages(mailbox.id, uids, { row: true })
  const messages = []
  for (const record of records) {
    const pieces = []
    for await (const piece of store.readContent(record.contentId, 0, record.size))
      pieces.push(piece)
    messages.push({ ...record, bytes: Buffer.concat(pieces) })
  }
  store.closeView(view)
  return messages
}

/** @param {import('../../../src/store/account-store.js').AccountStore} store */
const textsOf = async (store) => (await readInbox(store)).map(({ bytes }) => bytes.toString())

/**
 * A store that does as the real one but for some methods.
 *
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {Partial<import('../../../src/delivery/drain.js').DrainStore>} changes
 * @returns {import('../../../src/delivery/drain.js').DrainStore}
 */
const altered = (store, changes) => ({
  stageContent: (options) => store.stageContent(options),
  appendMessages: (name, messages, options) => store.appendMessages(name, messages, options),
  listDrained: () => store.listDrained(),
  forgetDrained: (names) => store.forgetDrained(names),
  ...changes
})

const NOTHING = { delivered: 0, setAside: 0, remaining: 0, stoppedBy: null }

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
  await put(randomBytes(100_000))
  await put('b')
  const limited = await drain({ limit: 200, limitBytes: 50_000 })
  assert.deepEqual(limited, { ...NOTHING, delivered: 1, remaining: 2 })
  assert.deepEqual(await drain({ limitBytes: 50_000 }), { ...NOTHING, remaining: 2 })
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 2 })
  assert.deepEqual(
    (await readInbox(store)).map(({ bytes }) => bytes.length),
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

test('a file that does not open is set aside and reported, and the others come in', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  await put('first')
  const damaged = await put('y'.repeat(300_000))
  const stranger = join(spoolFolder, `${'0'.repeat(32)}.sealed`)
  await put('last')
  const path = join(spoolFolder, damaged.name)
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 40) ^ 1, bytes.length - 40)
  writeFileSync(path, bytes)
  writeFileSync(stranger, 'not a sealed file')
  /** @type {string[]} */
  const reported = []
  const result = await drain({ onSetAside: ({ name, code }) => reported.push(`${name} ${code}`) })
  assert.deepEqual(result, { ...NOTHING, delivered: 2, setAside: 2 })
  const names = [damaged.name, `${'0'.repeat(32)}.sealed`]
  assert.deepEqual(reported.sort(), names.map((name) => `${name} UNSEAL_FAILED`).sort())
  assert.deepEqual((await listAside(spoolFolder)).sort(), names.sort())
  assert.deepEqual(
    (await readInbox(store)).map((message) => message.bytes.toString()),
    ['first', 'last']
  )
  assert.deepEqual(await drain(), NOTHING)
})

/**
 * A store whose code fails at one message.
 *
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {'write' | 'finish'} step
 */
const faultyAt = (store, step) =>
  altered(store, {
    stageContent: async (options) => {
      const writer = await store.stageContent(options)
      let isBad = false
      /** @param {typeof step} at */
      const check = (at) => {
        if (isBad && step === at) throw new TypeError('Cannot read properties of undefined')
      }
      return {
        write: async (chunk) => {
          isBad ||= chunk.includes('bad')
          check('write')
          await writer.write(chunk)
        },
        finish: async () => {
          check('finish')
          return writer.finish()
        },
        abort: () => writer.abort()
      }
    }
  })

for (const step of /** @type {const} */ (['write', 'finish'])) {
  test(`a message that the program fails at (${step}) is set aside and reported, and keeps no other out`, async (t) => {
    const { put, drain, store, spoolFolder } = await setUp(t)
    await put('first')
    const { name } = await put('bad')
    await put('last')
    /** @type {object[]} */
    const reported = []
    const result = await drain({
      store: faultyAt(store, step),
      onSetAside: (file) => reported.push(file)
    })
    assert.deepEqual(result, { ...NOTHING, delivered: 2, setAside: 1 })
    assert.deepEqual(reported, [{ name, code: 'MESSAGE_FAULT' }])
    assert.deepEqual(await listAside(spoolFolder), [name])
    assert.deepEqual(await textsOf(store), ['first', 'last'])
    await retryAsideFile(spoolFolder, name)
    assert.deepEqual(await drain(), { ...NOTHING, delivered: 1 })
  })
}

test('of a batch that the program fails at, only the message that it fails at alone is set aside', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  await put('first')
  const { name } = await put('bad message')
  await put('last')
  const failing = altered(store, {
    appendMessages: async (mailbox, messages, options) => {
      // As where a value of one of them is none that a column takes.
      if (messages.some(({ spoolName }) => spoolName === name)) throw new RangeError('out of range')
      return store.appendMessages(mailbox, messages, options)
    }
  })
  assert.deepEqual(await drain({ store: failing }), { ...NOTHING, delivered: 2, setAside: 1 })
  assert.deepEqual(await listAside(spoolFolder), [name])
  assert.deepEqual(await textsOf(store), ['first', 'last'])
})

test('mail behind whose commit the program fails is in, and is not set aside', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  for (const text of ['a', 'b']) await put(text)
  const failing = altered(store, {
    appendMessages: async (mailbox, messages, options) => {
      await store.appendMessages(mailbox, messages, options)
      throw new TypeError('views is undefined')
    }
  })
  assert.deepEqual(await drain({ store: failing }), { ...NOTHING, delivered: 2 })
  assert.deepEqual(await listAside(spoolFolder), [])
  assert.deepEqual(await textsOf(store), ['a', 'b'])
  assert.deepEqual(await drain(), NOTHING)
})

test('a folder in the place of a file is set aside like a damaged file', async (t) => {
  const { put, drain, spoolFolder } = await setUp(t)
  await put('x')
  mkdirSync(join(spoolFolder, `${'0'.repeat(32)}.sealed`))
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 1, setAside: 1 })
})

test('mail that was accepted comes in although messages.maxBytes has been lowered since', async (t) => {
  const { put, drain } = await setUp(t, { maxMessageBytes: 100_000 })
  await put('x'.repeat(100_001))
  await put('x')
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 2 })
})

test('mail for an older identity opens; mail for another account does not', async (t) => {
  const { put, drain, identities } = await setUp(t)
  const newer = identityFromSecret(generateSealIdentity().secret)
  await put('x')
  assert.deepEqual(await drain({ identities: [newer, ...identities] }), {
    ...NOTHING,
    delivered: 1
  })
  await put('y')
  assert.deepEqual(await drain({ identities: [newer] }), { ...NOTHING, setAside: 1 })
})

test('the next batch is opened while the one before goes to the disk', async (t) => {
  const { put, drain, store } = await setUp(t)
  for (let i = 0; i < 20; i++) await put(`${i}`)
  let opened = 0
  /** @type {PromiseWithResolvers<void>} */
  const next = Promise.withResolvers()
  const slow = altered(store, {
    stageContent: (options) => {
      if (++opened === 20) next.resolve()
      return store.stageContent(options)
    },
    appendMessages: async (name, messages, options) => {
      await next.promise
      return store.appendMessages(name, messages, options)
    }
  })
  assert.deepEqual(await drain({ store: slow }), { ...NOTHING, delivered: 20 })
  assert.deepEqual(
    await textsOf(store),
    Array.from({ length: 20 }, (_, index) => `${index}`)
  )
})

test('when a batch is refused, what was opened of it and of the next is given up', async (t) => {
  const { put, drain, store } = await setUp(t)
  for (let i = 0; i < 40; i++) await put(`${i}`)
  let staged = 0
  let aborted = 0
  const failing = altered(store, {
    stageContent: async (options) => {
      staged++
      const writer = await store.stageContent(options)
      return {
        write: (chunk) => writer.write(chunk),
        finish: () => writer.finish(),
        abort: () => {
          aborted++
          return writer.abort()
        }
      }
    },
    appendMessages: () => Promise.reject(new MailError('BUSY'))
  })
  const result = await drain({ store: failing })
  assert.deepEqual(result, { ...NOTHING, remaining: 40, stoppedBy: 'BUSY' })
  assert.equal(staged, 32)
  assert.equal(aborted, staged)
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 40 })
})

for (const code of /** @type {const} */ (['BUSY', 'DISK_FULL', 'NOT_DURABLE'])) {
  test(`a store that answers ${code} stops the drain; every file stays, and comes in later, once`, async (t) => {
    const { put, drain, store, spoolFolder } = await setUp(t)
    for (let i = 0; i < 20; i++) await put(`${i}`)
    let calls = 0
    const failing = altered(store, {
      appendMessages: async (name, messages, options) => {
        if (++calls === 2) throw new MailError(code)
        return store.appendMessages(name, messages, options)
      }
    })
    const result = await drain({ store: failing })
    assert.deepEqual(result, { delivered: 16, setAside: 0, remaining: 4, stoppedBy: code })
    assert.equal((await listSpool(spoolFolder)).length, 4)
    assert.deepEqual(await drain(), { ...NOTHING, delivered: 4 })
    assert.equal((await readInbox(store)).length, 20)
  })
}

test('an error that is not temporary is thrown, and every file stays', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  await put('x')
  const failing = altered(store, {
    stageContent: async () => {
      throw new MailError('ACCOUNT_DAMAGED')
    }
  })
  await assert.rejects(drain({ store: failing }), { code: 'ACCOUNT_DAMAGED' })
  assert.equal((await listSpool(spoolFolder)).length, 1)
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

test('what was unlinked when the process died before the forgetting is forgotten by the next run', async (t) => {
  const { put, drain, store } = await setUp(t)
  await put('once')
  const dying = altered(store, {
    forgetDrained: async () => {
      throw new Error('killed')
    }
  })
  await assert.rejects(drain({ store: dying }), /killed/)
  assert.equal((await store.listDrained()).length, 1)
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
