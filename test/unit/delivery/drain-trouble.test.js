/**
 * Draining when a file, a message or the store is not as it should be: no mail is lost, and none keeps another out.
 */
import assert from 'node:assert/strict'
import {
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateSealIdentity, identityFromSecret } from '../../../src/crypto/age.js'
import {
  listAside,
  listSpool,
  removeSpoolFiles,
  retryAsideFile
} from '../../../src/delivery/spool.js'
import { MailError } from '../../../src/errors.js'
import { NOTHING, altered, readInbox, setUp, textsOf } from '../../helpers/drain.js'

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
    await retryAsideFile(spoolFolder, name, Date.now())
    assert.deepEqual(await drain(), { ...NOTHING, delivered: 1 })
  })
}

/**
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {{ staged: number, aborted: number }} counts - of contents, counted here
 * @returns {import('../../../src/delivery/drain.js').DrainStore['stageContent']}
 */
const counting = (store, counts) => async (options) => {
  counts.staged++
  const writer = await store.stageContent(options)
  return {
    write: (chunk) => writer.write(chunk),
    finish: () => writer.finish(),
    abort: () => {
      counts.aborted++
      return writer.abort()
    }
  }
}

test('of a batch that the program fails at, only the message that it fails at alone is set aside', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  await put('first')
  const { name } = await put('bad message')
  await put('last')
  const counts = { staged: 0, aborted: 0 }
  const failing = altered(store, {
    stageContent: counting(store, counts),
    appendMessages: async (mailbox, messages, options) => {
      // As where a value of one of them is none that a column takes.
      if (messages.some(({ spoolName }) => spoolName === name)) throw new RangeError('out of range')
      return store.appendMessages(mailbox, messages, options)
    }
  })
  assert.deepEqual(await drain({ store: failing }), { ...NOTHING, delivered: 2, setAside: 1 })
  assert.deepEqual(await listAside(spoolFolder), [name])
  assert.equal(counts.aborted, 1)
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

test('a file that another process has brought in since the spool was listed is passed over', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  await put('first')
  const { name } = await put('gone')
  await put('last')
  const alone = altered(store, {
    stageContent: async (options) => {
      await removeSpoolFiles(spoolFolder, [name])
      return store.stageContent(options)
    }
  })
  assert.deepEqual(await drain({ store: alone }), { ...NOTHING, delivered: 2 })
  assert.deepEqual(await listAside(spoolFolder), [])
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
  const counts = { staged: 0, aborted: 0 }
  const failing = altered(store, {
    stageContent: counting(store, counts),
    appendMessages: () => Promise.reject(new MailError('BUSY'))
  })
  const result = await drain({ store: failing })
  assert.deepEqual(result, { ...NOTHING, remaining: 40, stoppedBy: 'BUSY' })
  assert.deepEqual(counts, { staged: 32, aborted: 32 })
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

test('a file of which nobody can tell whether it is still there stays, and comes in later', async (t) => {
  const { put, drain, store, spoolFolder } = await setUp(t)
  await put('first')
  const { name } = await put('last')
  const path = join(spoolFolder, name)
  const unsure = altered(store, {
    appendMessages: async (mailbox, messages, options) => {
      // A link to itself is what the system answers neither yes nor no about.
      renameSync(path, `${path}.kept`)
      symlinkSync(path, path)
      try {
        return await store.appendMessages(mailbox, messages, options)
      } finally {
        unlinkSync(path)
        renameSync(`${path}.kept`, path)
      }
    }
  })
  const stopped = { ...NOTHING, remaining: 2, stoppedBy: 'OVERLOADED' }
  assert.deepEqual(await drain({ store: unsure }), stopped)
  assert.deepEqual(await drain(), { ...NOTHING, delivered: 2 })
  assert.deepEqual(await textsOf(store), ['first', 'last'])
})

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
