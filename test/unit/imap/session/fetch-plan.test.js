import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planPages } from '../../../../src/imap/session/fetch-page.js'
import { MAX_SECTIONS, planBodies, planFetch } from '../../../../src/imap/session/fetch-plan.js'
import { plansFor } from '../../../../src/imap/session/fetch-plans.js'

/** @typedef {import('../../../../src/imap/protocol/values/fetch-item.js').FetchItem} FetchItem */

/** @param {FetchItem[]} items */
const planOf = (...items) => planFetch({ items, isUid: false, isChangedSince: false })

/**
 * @param {string[]} fields - of the message's header; none: the whole message
 * @param {boolean} [isPeek]
 * @returns {FetchItem}
 */
const section = (fields, isPeek = true) => ({
  kind: 'SECTION',
  isPeek,
  section: { path: [], text: fields.length === 0 ? null : 'HEADER.FIELDS', fields },
  partial: null,
  label: 'BODY[]'
})

test('lists go by pages, other sections by bodies, what sets \\Seen by neither', () => {
  const list = planOf({ kind: 'BODYSTRUCTURE' }, section(['Subject', 'Received']))
  const { choices, ...needs } = planPages(list)?.needs ?? {}
  assert.equal(choices?.length, 1)
  assert.deepEqual(needs, {
    withDates: false,
    columns: ['bodyStructure', 'fields', 'received'],
    previews: 'none'
  })
  const odd = planOf({ kind: 'INTERNALDATE' }, section(['a name']))
  assert.equal(planPages(odd), null)
  assert.deepEqual(planBodies(odd), { withTrees: true, withDates: true, wholeBytes: 0 })
  const whole = { withTrees: false, withDates: false, wholeBytes: Infinity }
  assert.deepEqual(planBodies(planOf(section([]))), whole)
  const beside = planOf({ kind: 'ENVELOPE' }, section(['a name']))
  assert.deepEqual([planPages(beside), planBodies(beside)], [null, null])
  const setsSeen = planOf(section(['Subject'], false))
  assert.deepEqual([planPages(setsSeen), planBodies(setsSeen)], [null, null])
})

test('a list that may not tell all of a message’s fields has a plan for bodies too', () => {
  const plans = (/** @type {string[]} */ ...fields) => {
    const items = [{ kind: /** @type {const} */ ('FLAGS') }, section(fields)]
    const asked = { items, itemsText: null, isUid: false, changedSince: null }
    const { pagePlan, bodyNeeds } = plansFor(asked)
    return [pagePlan?.needs.columns, bodyNeeds !== null]
  }
  assert.deepEqual(plans('Subject', 'Received'), [['fields', 'received'], false])
  assert.deepEqual(plans('Subject', 'X-Other'), [['fields'], true])
  assert.deepEqual(plans('Subject', 'DKIM-Signature'), [['fields', 'signatures'], true])
  assert.deepEqual(plans('Subject', 'a name'), [undefined, true])
})

test('so many sections that others would have to wait are read of one message after the other', () => {
  const names = ['From', 'To', 'Cc', 'Subject', 'Date']
  assert.ok(names.length > MAX_SECTIONS)
  for (const count of [MAX_SECTIONS, MAX_SECTIONS + 1]) {
    const isFew = count === MAX_SECTIONS
    const listed = names.slice(0, count).map((name) => section([name]))
    assert.equal(planPages(planOf(...listed)) !== null, isFew)
    const odd = names.slice(0, count).map((name) => section([`X-${name}`]))
    assert.equal(planBodies(planOf(...odd)) !== null, isFew)
  }
})

/** @type {[string, FetchItem[], { withTrees: boolean, wholeBytes: number }][]} */
const WHOLES = [
  [
    'the beginning of the message',
    [beginning(0, 393_216)],
    { withTrees: false, wholeBytes: 393_216 }
  ],
  ['a part behind it', [beginning(393_216, 393_216)], { withTrees: false, wholeBytes: 0 }],
  ['the beginning of a header', [beginning(0, 9, ['Subject'])], { withTrees: true, wholeBytes: 0 }],
  ['the message twice', [section([]), beginning(0, 9)], { withTrees: false, wholeBytes: 0 }],
  ['the message and a header', [section([]), section(['To'])], { withTrees: true, wholeBytes: 0 }]
]

/**
 * @param {number} offset
 * @param {number} length
 * @param {string[]} [fields]
 * @returns {FetchItem}
 */
function beginning(offset, length, fields = []) {
  return /** @type {FetchItem} */ ({ ...section(fields), partial: { offset, length } })
}

for (const [what, items, needs] of WHOLES)
  test(`${what}: parts are ${needs.withTrees ? '' : 'not '}looked for, and the whole is what has up to ${needs.wholeBytes} bytes`, () => {
    assert.deepEqual(planBodies(planOf(...items)), { ...needs, withDates: false })
  })
