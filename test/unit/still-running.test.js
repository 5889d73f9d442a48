import assert from 'node:assert/strict'
import test from 'node:test'
import stillRunning from '../still-running.js'

test('where nothing happens the tests that have begun and not ended are named, until something happens', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers()
  async function* events() {
    const [file, testId] = ['/tests/slow.test.js', 1]
    yield { type: 'test:dequeue', data: { name: 'tests/slow.test.js', file, testId } }
    yield { type: 'test:dequeue', data: { name: 'ends', file, testId } }
    yield { type: 'test:complete', data: { name: 'ends', file, testId } }
    yield { type: 'test:dequeue', data: { name: 'waits', file, testId: 2 } }
    await released
    yield { type: 'test:complete', data: { name: 'waits', file, testId: 2 } }
  }
  const lines = stillRunning(events(), { quietMs: 30 })
  const said = []
  for await (const line of lines) {
    said.push(line)
    if (said.length === 3) release(undefined)
  }
  assert.deepEqual(said.slice(1, 3), ['  tests/slow.test.js\n', '  /tests/slow.test.js: waits\n'])
  assert.match(said[0] ?? '', /still running:\n$/)
})
