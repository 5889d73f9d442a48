/**
 * The dashboard's tables over a stand-in for a document, which knows what dom.js asks of one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chartText } from '../../../src/admin/dashboard/format.js'

class StandIn {
  /** @type {(StandIn | string)[]} */
  children = []
  /** @type {Record<string, string>} */
  attributes = {}
  /** @type {Record<string, () => Promise<void>>} */
  listeners = {}
  classList = { add: (/** @type {string[]} */ ...names) => this.names.push(...names) }
  /** @type {string[]} */
  names = []

  /** @param {string} tag */
  constructor(tag) {
    this.tag = tag
  }

  /**
   * @param {string} name
   * @param {string} value
   */
  setAttribute(name, value) {
    this.attributes[name] = value
  }

  /**
   * @param {string} name
   * @param {() => Promise<void>} listener
   */
  addEventListener(name, listener) {
    this.listeners[name] = listener
  }

  /** @param {(StandIn | string)[]} children */
  append(...children) {
    this.children.push(...children)
  }

  replaceChildren() {
    this.children = []
  }

  /**
   * @param {string} tag
   * @returns {StandIn[]}
   */
  all(tag) {
    return this.children.flatMap((child) =>
      typeof child === 'string' ? [] : [...(child.tag === tag ? [child] : []), ...child.all(tag)]
    )
  }
}

Object.assign(globalThis, {
  Node: StandIn,
  document: { createElement: (/** @type {string} */ tag) => new StandIn(tag) }
})
// The types of a browser are not known here.
const { growingTable, table } = await import(
  String(new URL('../../../src/admin/dashboard/table.js', import.meta.url))
)

const COLUMNS = [
  { title: 'Address', cell: (/** @type {{ id: number }} */ { id }) => `anna${id}@example.org` },
  { title: 'Messages', isNumber: true, cell: () => '7' }
]
const attempt = (/** @type {() => Promise<unknown>} */ work) => work()

test('a row that opens has a button in its first cell, and heads say that they are those of columns', async () => {
  /** @type {unknown[]} */
  const opened = []
  /** @type {StandIn} */
  const shown = table(COLUMNS, [{ id: 1 }, { id: 2 }], {
    onOpen: (/** @type {unknown} */ row) => opened.push(row)
  })
  assert.deepEqual(
    shown.all('th').map(({ attributes }) => attributes),
    [{ scope: 'col' }, { scope: 'col' }]
  )
  const buttons = shown.all('button')
  assert.deepEqual(
    buttons.map(({ children }) => children),
    [['anna1@example.org'], ['anna2@example.org']]
  )
  // A click in it is one of the row, which would open twice if both listened.
  assert.deepEqual(buttons[0]?.listeners, {})
  await shown.all('tr')[2]?.listeners['click']?.()
  assert.deepEqual(opened, [{ id: 2 }])
  assert.equal(table(COLUMNS, [{ id: 1 }]).all('button').length, 0)
})

test('"Older" that is pressed twice shows the next page once, and goes on where it ends', async () => {
  /** @type {(number | undefined)[]} */
  const asked = []
  const load = async (
    /** @type {{ limit: number, before?: number }} */ { limit, before = 251 }
  ) => {
    asked.push(before)
    await new Promise((resolve) => setImmediate(resolve))
    const count = Math.min(limit, before - 1)
    return Array.from({ length: count }, (_, index) => ({ id: before - 1 - index }))
  }
  /** @type {{ body: StandIn, more: () => Promise<void> }} */
  const { body, more } = growingTable({ columns: COLUMNS, load, attempt })
  await more()
  const press = body.all('button')[0]?.listeners['click']
  await Promise.all([press?.(), press?.()])
  assert.deepEqual(asked, [251, 151])
  assert.equal(body.all('tr').length, 1 + 200)
  await body.all('button')[0]?.listeners['click']?.()
  assert.deepEqual(asked, [251, 151, 51])
  assert.equal(body.all('tr').length, 1 + 250)
  assert.equal(body.all('button').length, 0)
})

test('a chart says in words what it shows', () => {
  const format = (/** @type {number} */ value) => `${value} a minute`
  assert.equal(
    chartText('Deliveries', [null, 7, 2, 3], format),
    'Deliveries: 3 a minute now, between 2 a minute and 7 a minute'
  )
  assert.equal(chartText('Deliveries', [null], format), 'Deliveries: nothing yet')
})
