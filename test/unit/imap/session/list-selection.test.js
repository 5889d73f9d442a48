import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileListPattern } from '../../../../src/imap/session/list-pattern.js'
import { selectNodes } from '../../../../src/imap/session/list-selection.js'
import { buildMailboxTree } from '../../../../src/imap/session/mailbox-tree.js'
import { Slicer } from '../../../../src/support/slicer.js'

const SUBSCRIPTIONS = 4000
/** As long as a name may be. */
const NAME = 'a'.repeat(990)

test('LIST gives others their turn, however many names and wildcards there are', async () => {
  const subscriptions = Array.from({ length: SUBSCRIPTIONS }, (_, index) => `${NAME}${index}`)
  const slicer = new Slicer()
  const nodes = await buildMailboxTree({ rows: [], subscriptions, withLevels: true, slicer })
  let turns = 0
  const others = setInterval(() => turns++, 1)
  const selection = ['SUBSCRIBED']
  const tests = [compileListPattern(`${'%a*'.repeat(250)}b`), compileListPattern('%7')]
  const listed = await selectNodes(nodes, { selection, tests, slicer })
  clearInterval(others)
  assert.equal(listed.length, SUBSCRIPTIONS / 10)
  assert.ok(turns > 0, 'nobody else had a turn')
})

test('a LIST that is called off ends', async () => {
  const subscriptions = Array.from({ length: 100 }, (_, index) => `n${index}`)
  const slicer = new Slicer(AbortSignal.abort(new Error('the client has gone')))
  await assert.rejects(
    buildMailboxTree({ rows: [], subscriptions, withLevels: true, slicer }),
    /has gone/
  )
})
