import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planPages } from '../../../../src/imap/session/fetch-page.js'
import { MAX_SECTIONS, planBodies, planFetch } from '../../../../src/imap/session/fetch-plan.js'

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
  assert.deepEqual(planPages(list)?.needs, {
    withDates: false,
    columns: ['bodyStructure', 'fields', 'received'],
    previews: 'none'
  })
  const odd = planOf({ kind: 'INTERNALDATE' }, section(['X-Other']))
  assert.equal(planPages(odd), null)
  assert.deepEqual(planBodies(odd), { withTrees: true, withDates: true })
  assert.deepEqual(planBodies(planOf(section([]))), { withTrees: false, withDates: false })
  const beside = planOf({ kind: 'ENVELOPE' }, section(['X-Other']))
  assert.deepEqual([planPages(beside), planBodies(beside)], [null, null])
  const setsSeen = planOf(section(['Subject'], false))
  assert.deepEqual([planPages(setsSeen), planBodies(setsSeen)], [null, null])
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
