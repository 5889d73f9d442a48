import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MailboxView } from '../../../src/store/mailbox-view.js'

const newView = () =>
  new MailboxView({ id: 1, name: 'INBOX', uidValidity: 1, uidNext: 1, highestModSeq: 1 })

/**
 * @param {MailboxView} view
 * @param {number} count
 */
function append(view, count) {
  const fromSlot = view.length
  for (let i = 0; i < count; i++) view.append(view.uidNext, ++view.highestModSeq, 0, 0)
  view.publish([{ kind: 'append', fromSlot, toSlot: view.length }])
}

/**
 * @param {MailboxView} view
 * @param {number[]} slots
 */
function expunge(view, slots) {
  const buried = slots.filter((slot) => view.bury(slot))
  view.publish([{ kind: 'expunge', slots: buried, after: view.highestModSeq, origin: null }])
}

test('an attachment takes what came after it, and is told each time', () => {
  const view = newView()
  append(view, 3)
  let told = 0
  const attachment = view.attach(() => told++)
  assert.equal(attachment.hasPending, false)
  append(view, 2)
  expunge(view, [0])
  assert.equal(told, 2)
  assert.deepEqual(attachment.take(), [
    { kind: 'append', fromSlot: 3, toSlot: 5 },
    { kind: 'expunge', slots: [0], after: view.highestModSeq, origin: null }
  ])
  assert.deepEqual(attachment.take(), [])
  assert.equal(view.aliveCount, 4)
})

test('UIDs are found by binary search, also between and beyond', () => {
  const view = newView()
  for (const uid of [2, 5, 9]) view.append(uid, 2, 0, 0)
  assert.deepEqual(
    [1, 2, 3, 9, 10].map((uid) => view.lowerBound(uid)),
    [0, 0, 1, 2, 3]
  )
  assert.deepEqual(
    [2, 3, 9, 10].map((uid) => view.slotOf(uid)),
    [0, -1, 2, -1]
  )
  assert.equal(view.uidNext, 10)
})

test('messages that come or go together are as if they had done so one by one', () => {
  const runs = fc.array(fc.tuple(fc.integer({ min: 1, max: 90 }), fc.boolean()), { maxLength: 12 })
  fc.assert(
    fc.property(runs, fc.nat({ max: 40 }), (lengths, known) => {
      const [one, all] = [newView(), newView()]
      for (const view of [one, all])
        for (let uid = 1; uid <= known; uid++) view.append(uid, 2, 1, 0)
      const count = lengths.reduce((sum, [length]) => sum + length, 0)
      const uids = Uint32Array.from({ length: count }, (_, index) => 2 * index + 1)
      const flags = uids.map((uid) => uid * 3)
      const keywords = uids.map((uid) => uid * 5)
      for (const [index, uid] of uids.entries())
        one.append(uid, 7, flags[index] ?? 0, keywords[index] ?? 0)
      all.appendColumns({ uids, modSeq: 7, flags, keywords })
      // Runs of different lengths go, together with UIDs that nobody has.
      let end = 0
      const gone = lengths.flatMap(([length, goes]) => {
        const start = end
        end += length
        return goes ? Array.from({ length }, (_, index) => 2 * (start + index) + 1) : []
      })
      const withOthers = gone.flatMap((uid) => [uid, uid + 1])
      const buried = withOthers.filter((uid) => one.slotOf(uid) >= 0 && one.bury(one.slotOf(uid)))
      assert.deepEqual(
        all.buryAll(withOthers).map((slot) => all.uids[slot]),
        buried
      )
      assert.deepEqual(all.buryAll(withOthers), [])
      assert.deepEqual([...all.tombstones], [...one.tombstones])
      assert.deepEqual(stateOf(all), stateOf(one))
      const { living } = stateOf(all)
      all.compactIfPossible()
      assert.deepEqual(stateOf(all).living, living)
    })
  )
})

/**
 * @param {MailboxView} view
 * @returns {{ living: { uid: number, modSeq: number, flags: number, keywords: number }[], uidNext: number, length: number }}
 */
function stateOf(view) {
  const living = []
  for (let slot = 0; slot < view.length; slot++) {
    const [uid = 0, modSeq = 0] = [view.uids[slot], view.modSeqs[slot]]
    const [flags = 0, keywords = 0] = [view.flags[slot], view.keywords[slot]]
    if (!view.isExpunged(slot)) living.push({ uid, modSeq, flags, keywords })
  }
  assert.equal(living.length, view.aliveCount)
  return { living, uidNext: view.uidNext, length: view.length }
}

test('what is there already, or older, is not applied again', () => {
  const view = newView()
  assert.equal(view.append(1, 5, 0, 0), true)
  assert.equal(view.append(1, 6, 0, 0), false)
  assert.equal(view.update(0, { uid: 1, modSeq: 5, flags: 1, keywords: 0 }), false)
  assert.equal(view.update(0, { uid: 1, modSeq: 7, flags: 1, keywords: 0 }), true)
  assert.equal(view.bury(0), true)
  assert.equal(view.bury(0), false)
  assert.equal(view.update(0, { uid: 1, modSeq: 8, flags: 0, keywords: 0 }), false)
  assert.equal(view.append(1, 9, 0, 0), false)
})

for (const [what, hold, release] of /** @type {const} */ ([
  ['is busy', 'busy', 'busy'],
  ['has not taken everything', 'pending', 'take'],
  ['has not acknowledged every tombstone', 'unacknowledged', 'acknowledge']
])) {
  test(`tombstones stay while an attachment ${what}`, () => {
    const view = newView()
    append(view, 8)
    const attachment = view.attach(() => {})
    let compacted = 0
    attachment.onCompact = () => compacted++
    if (hold === 'busy') attachment.setBusy(true)
    expunge(view, [0, 1, 2, 3])
    if (hold !== 'pending') attachment.take()
    if (hold === 'busy') attachment.acknowledgeExpunged(4)
    assert.deepEqual([view.length, compacted], [8, 0])
    if (release === 'busy') attachment.setBusy(false)
    if (release === 'take') attachment.take()
    if (release !== 'busy') {
      assert.equal(view.length, 8)
      attachment.acknowledgeExpunged(4)
    }
    assert.deepEqual([view.length, compacted], [4, 1])
    assert.deepEqual([...view.uids.subarray(0, 4)], [5, 6, 7, 8])
  })
}

test('an attachment that leaves holds nothing back', () => {
  const view = newView()
  append(view, 8)
  const attachment = view.attach(() => {})
  expunge(view, [0, 1, 2, 3])
  assert.equal(view.length, 8)
  attachment.detach()
  assert.equal(view.length, 4)
})

/**
 * One client of the naive model: the UIDs that it has been told of, in order.
 *
 * @typedef {{ attachment: import('../../../src/store/view-attachment.js').ViewAttachment, slots: number[], uids: number[], seen: Map<number, number>, unacknowledged: number[], mayExpunge: boolean }} Client
 */

/**
 * Tells a client everything, as a session does.
 *
 * @param {MailboxView} view
 * @param {Client} client
 */
function tell(view, client) {
  for (const record of client.attachment.take()) {
    if (record.kind === 'append') {
      for (let slot = record.fromSlot; slot < record.toSlot; slot++) {
        client.slots.push(slot)
        client.uids.push(/** @type {number} */ (view.uids[slot]))
      }
    } else if (record.kind === 'expunge') client.unacknowledged.push(...record.slots)
  }
  client.slots.forEach((slot, index) =>
    client.seen.set(
      /** @type {number} */ (client.uids[index]),
      /** @type {number} */ (view.flags[slot])
    )
  )
}

/**
 * Tells a client of the expunges that it has taken.
 *
 * @param {Client} client
 */
function tellExpunges(client) {
  const gone = new Set(client.unacknowledged)
  client.uids = client.uids.filter(
    (_, index) => !gone.has(/** @type {number} */ (client.slots[index]))
  )
  client.slots = client.slots.filter((slot) => !gone.has(slot))
  const told = client.unacknowledged
  client.unacknowledged = []
  client.attachment.acknowledgeExpunged(told.length)
}

const action = fc.oneof(
  fc.record({ kind: fc.constant('append'), n: fc.integer({ min: 1, max: 5 }) }),
  fc.record({
    kind: fc.constant('expunge'),
    n: fc.integer({ min: 0, max: 40 }),
    m: fc.integer({ min: 0, max: 8 })
  }),
  fc.record({ kind: fc.constant('flag'), n: fc.nat(40), m: fc.nat(31) }),
  fc.record({ kind: fc.constant('attach') }),
  fc.record({ kind: fc.constant('detach'), n: fc.nat(4) }),
  fc.record({ kind: fc.constant('tell'), n: fc.nat(4) }),
  fc.record({ kind: fc.constant('tellExpunges'), n: fc.nat(4) }),
  fc.record({ kind: fc.constant('busy'), n: fc.nat(4), m: fc.nat(1) })
)

test('what is taken stands where it says, also when nobody else needs a tombstone before it any more', () => {
  const view = newView()
  const attachment = view.attach(() => {})
  append(view, 1)
  expunge(view, [0])
  const late = view.attach(() => {})
  append(view, 2)
  attachment.take()
  attachment.acknowledgeExpunged(1)
  const [record] = late.take()
  assert.deepEqual(record, { kind: 'append', fromSlot: 1, toSlot: 3 })
  assert.deepEqual([...view.uids.subarray(1, 3)], [2, 3])
  late.setBusy(false)
  assert.deepEqual([view.length, ...view.uids.subarray(0, 2)], [2, 2, 3])
})

test('whatever happens in whatever order, each client that is told everything knows what there is', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
      const view = newView()
      /** @type {Map<number, number>} UID → flags: the naive model */
      const model = new Map()
      /** @type {Client[]} */
      const clients = []
      for (const step of /** @type {{ kind: string, n: number, m: number }[]} */ (actions)) {
        const alive = [...model.keys()]
        const client = clients[step.n % Math.max(1, clients.length)]
        if (step.kind === 'append') {
          for (let i = 0; i < step.n; i++) model.set(view.uidNext + i, 0)
          append(view, step.n)
        } else if (step.kind === 'expunge') {
          const uids = alive.slice(step.n, step.n + step.m)
          uids.forEach((uid) => model.delete(uid))
          expunge(
            view,
            uids.map((uid) => view.slotOf(uid))
          )
        } else if (step.kind === 'flag' && alive.length > 0) {
          const uid = /** @type {number} */ (alive[step.n % alive.length])
          const slot = view.slotOf(uid)
          model.set(uid, step.m)
          view.update(slot, { uid, modSeq: ++view.highestModSeq, flags: step.m, keywords: 0 })
          view.publish([{ kind: 'flags', slots: [slot], origin: null }])
        } else if (step.kind === 'attach' && clients.length < 5) {
          const attachment = view.attach(() => {})
          const slots = [...view.uids.subarray(0, view.length).keys()].filter(
            (slot) => !view.isExpunged(slot)
          )
          const uids = slots.map((slot) => /** @type {number} */ (view.uids[slot]))
          /** @type {Client} */
          const added = {
            attachment,
            slots,
            uids,
            seen: new Map(),
            unacknowledged: [],
            mayExpunge: true
          }
          attachment.onCompact = () => {
            added.slots = added.uids.map((uid) => view.slotOf(uid))
          }
          clients.push(added)
        } else if (step.kind === 'detach' && client) {
          client.attachment.detach()
          clients.splice(clients.indexOf(client), 1)
        } else if (step.kind === 'tell' && client) tell(view, client)
        else if (step.kind === 'tellExpunges' && client) tellExpunges(client)
        else if (step.kind === 'busy' && client) client.attachment.setBusy(step.m === 1)

        assert.equal(view.aliveCount, model.size)
        for (const [uid, flags] of model) assert.equal(view.flags[view.slotOf(uid)], flags)
        for (const { slots, uids } of clients)
          slots.forEach((slot, index) => assert.equal(view.uids[slot], uids[index]))
      }
      for (const client of clients) {
        client.attachment.setBusy(false)
        tell(view, client)
        tellExpunges(client)
        assert.deepEqual(client.uids, [...model.keys()])
        for (const uid of client.uids) assert.equal(client.seen.get(uid), model.get(uid))
      }
    }),
    { numRuns: 300 }
  )
})
