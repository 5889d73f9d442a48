import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServedThread } from '../../../src/database/served-thread.js'

/** Answers each job with itself, but for `wait`, and dies of the job `die`. */
const MODULE = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', ({ id, job }) => {
      if (job === 'die') throw new Error('died')
      if (job !== 'wait') parentPort.postMessage({ id, result: job })
    })
  `)}`
)

test('a job that comes at the moment when the thread has died gets another one', async (t) => {
  /** @type {ServedThread<string, string>} */
  const thread = new ServedThread(MODULE)
  t.after(() => thread.close())
  assert.equal(await thread.run('first'), 'first')
  const next = thread.run('die').catch((error) => {
    assert.equal(error.message, 'died')
    return thread.run('next')
  })
  assert.equal(await next, 'next')
  assert.ok(thread.isRunning)
  assert.equal(await thread.run('last'), 'last')
})

test('who waits when it is closed, and who comes later, is told that it is', async () => {
  /** @type {ServedThread<string, string>} */
  const thread = new ServedThread(MODULE)
  const waiting = assert.rejects(thread.run('wait'), { code: 'SHUTTING_DOWN' })
  await thread.run('answered')
  await thread.close()
  await waiting
  await assert.rejects(thread.run('late'), { code: 'SHUTTING_DOWN' })
  assert.equal(thread.isRunning, false)
})
