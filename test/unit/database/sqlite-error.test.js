import assert from 'node:assert/strict'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { MailError } from '../../../src/errors.js'
import { isBusy, toMailError } from '../../../src/database/sqlite-error.js'
import { runWithFewDescriptors } from '../../helpers/few-descriptors.js'

const url = (/** @type {string} */ path) => new URL(`../../../${path}`, import.meta.url).href

const table = /** @type {[string, string][]} */ ([
  ['SQLITE_CORRUPT', 'ACCOUNT_DAMAGED'],
  ['SQLITE_CORRUPT_VTAB', 'ACCOUNT_DAMAGED'],
  ['SQLITE_NOTADB', 'ACCOUNT_DAMAGED'],
  ['SQLITE_FULL', 'DISK_FULL'],
  ['ENOSPC', 'DISK_FULL'],
  ['EROFS', 'NOT_DURABLE'],
  ['EACCES', 'FILE_REFUSED'],
  ['EPERM', 'FILE_REFUSED'],
  ['SQLITE_BUSY', 'BUSY'],
  ['SQLITE_BUSY_SNAPSHOT', 'BUSY'],
  ['SQLITE_IOERR_FSYNC', 'NOT_DURABLE'],
  ['SQLITE_READONLY', 'READ_ONLY'],
  // There are descriptors: it is the file that cannot be opened.
  ['SQLITE_CANTOPEN', 'ACCOUNT_DAMAGED'],
  ['ERR_WORKER_INIT_FAILED', 'OVERLOADED'],
  ['EMFILE', 'OVERLOADED'],
  ['ENFILE', 'OVERLOADED']
])

for (const [code, expected] of table) {
  test(`${code} is ${expected}, with the cause kept for the log`, () => {
    const cause = Object.assign(new Error('SELECT secret FROM table'), { code })
    const mapped = toMailError(cause)
    assert.ok(mapped instanceof MailError)
    assert.equal(mapped.code, expected)
    assert.equal(mapped.cause, cause)
    assert.equal(mapped.message.includes('secret'), false)
    assert.equal(isBusy(cause), expected === 'BUSY')
  })
}

test('what the table does not know stays what it is', () => {
  for (const error of [
    new TypeError('fault'),
    Object.assign(new Error(), { code: 'SQLITE_ERROR' }),
    Object.assign(new Error('Invalid package config x'), { code: 'ERR_INVALID_PACKAGE_CONFIG' }),
    null
  ])
    assert.equal(toMailError(error), error)
})

test('what a thread has died of is what it was there', async () => {
  const died = new URL(
    `data:text/javascript,${encodeURIComponent(
      `import { MailError } from '${url('src/errors.js')}'
       throw new MailError('ACCOUNT_DAMAGED', { detail: 'SQLITE_CORRUPT' })`
    )}`
  )
  const [error] = await once(new Worker(died), 'error').catch((thrown) => [thrown])
  const { code, detail } = /** @type {MailError} */ (toMailError(error))
  assert.deepEqual([code, detail], ['ACCOUNT_DAMAGED', 'SQLITE_CORRUPT'])
  assert.ok(toMailError(error) instanceof MailError)
})

test('Node’s own SQLite says by numbers what the other says by names', () => {
  const db = new DatabaseSync(':memory:')
  const thrownBy = (/** @type {() => void} */ work) => {
    try {
      work()
    } catch (error) {
      return error
    }
    throw new Error('nothing was thrown')
  }
  // One page is full at once.
  db.exec('PRAGMA max_page_count = 1')
  const full = thrownBy(() => db.exec('CREATE TABLE t (x)'))
  assert.equal(/** @type {MailError} */ (toMailError(full)).code, 'DISK_FULL')
  assert.equal(isBusy(full), false)
  const busy = Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR', errcode: 5 | (2 << 8) })
  assert.equal(isBusy(busy), true)
  assert.equal(/** @type {MailError} */ (toMailError(busy)).code, 'BUSY')
  const wrong = thrownBy(() => db.exec('no SQL'))
  assert.equal(toMailError(wrong), wrong)
  db.close()
})

/** Starts a thread with no descriptor left, with one, and so on until there are enough; says how each failed. */
const SCRIPT = `
  import { Worker } from 'node:worker_threads'
  import { toMailError } from '${url('src/database/sqlite-error.js')}'
  import { takeDescriptors } from '${url('test/helpers/few-descriptors.js')}'
  const failures = new Map()
  for (let free = 0, isEnough = false; !isEnough && free < 50; free++) {
    const release = takeDescriptors(free)
    const thread = new Worker(new URL('${url('test/helpers/child-module.js')}'), {
      execArgv: [],
      workerData: { kind: 'echo', value: 1, key: new ArrayBuffer(1) }
    })
    isEnough = await new Promise((resolve) => {
      let error = null
      thread.on('error', (thrown) => (error = thrown))
      thread.on('exit', () => {
        if (error !== null) failures.set(error.code, toMailError(error).code)
        resolve(error === null)
      })
    })
    release()
  }
  process.stdout.write(JSON.stringify([...failures]))`

test('a thread that has no descriptor for one of its steps is OVERLOADED, whichever step it is', async () => {
  const failures = new Map(JSON.parse(await runWithFewDescriptors(SCRIPT, [])))
  assert.deepEqual([...failures.keys()].sort(), [
    'ERR_INVALID_PACKAGE_CONFIG',
    'ERR_WORKER_INIT_FAILED'
  ])
  assert.deepEqual(new Set(failures.values()), new Set(['OVERLOADED']))
})
