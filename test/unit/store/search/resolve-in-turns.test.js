/**
 * A search that must pause as often as it can, and goes on with what it has not looked at, finds the same.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planSearch } from '../../../../src/store/search/plan.js'
import { Resolver } from '../../../../src/store/search/resolve.js'
import { unpackCandidates } from '../../../../src/store/search/scan-request.js'
import { Slicer } from '../../../../src/support/slicer.js'
import { searchKey } from '../../../helpers/search-key.js'
import { selectIn } from '../../../helpers/selected.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

/** More than two pages of rows. */
const MESSAGES = 1100

/** @param {number} number */
const mailOf = (number) => ({
  bytes: Buffer.from(
    [
      `Subject: about ${number % 7}`,
      `Date: ${1 + (number % 28)} Jan 2026 10:00:00 +0000`,
      '',
      `${'x'.repeat(number % 90)} word${number % 5} end`,
      ''
    ].join('\r\n')
  )
})

for (const text of [
  'SENTSINCE 14-Jan-2026 SUBJECT about',
  'SUBJECT "about 3"',
  'BODY word4',
  'OR LARGER 130 BODY word1',
  'SUBJECT "about 2" NOT BODY word2',
  'OR (SMALLER 100 SENTBEFORE 9-Jan-2026) (SUBJECT 5 BODY word3)'
])
  test(`${text}, in turns as short as can be`, async (t) => {
    const store = await temporaryStore(t)
    await appendAll(
      store,
      'INBOX',
      Array.from({ length: MESSAGES }, (_, number) => mailOf(number))
    )
    const { view } = await selectIn(store)
    const plan = planSearch(searchKey(text))
    const candidates = unpackCandidates(plan, {
      uids: view.uids.slice(0, view.length),
      contentIds: Float64Array.from(view.contentIds.subarray(0, view.length)),
      verdicts: new Uint8Array(0)
    })
    const resolve = (/** @type {number[]} */ open, mustPause = () => false) =>
      new Resolver({
        database: store.searchAccess.database,
        mailboxId: view.mailboxId,
        plan,
        candidates,
        answers: null,
        nowSeconds: 0,
        slicer: new Slicer(),
        mustPause
      }).resolve(open)
    const all = Array.from({ length: MESSAGES }, (_, index) => index)
    const whole = await resolve([...all])
    assert.deepEqual(whole.rest, [])
    assert.ok(whole.matches.length > 0 && whole.matches.length < MESSAGES)

    /** @type {number[]} */
    const matches = []
    let turns = 0
    for (let left = all; left.length > 0; turns++) {
      const turn = await resolve(left, () => true)
      assert.ok(turn.rest.length < left.length, 'every turn gets on')
      matches.push(...turn.matches)
      left = turn.rest
    }
    assert.ok(turns > 1)
    const inOrder = (/** @type {number[]} */ numbers) => numbers.toSorted((a, b) => a - b)
    assert.deepEqual(inOrder(matches), inOrder(whole.matches))
  })
