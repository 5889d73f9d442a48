import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SelectedMailbox } from '../../../../src/imap/session/selected-mailbox.js'
import { inOrder, mergeSorted } from '../../../../src/imap/session/sorted-slots.js'
import { countBelow } from '../../../../src/support/count-below.js'
import { SequenceSet } from '../../../../src/imap/protocol/values/sequence-set.js'
import { MailboxView } from '../../../../src/store/mailbox-view.js'

const MAILBOX = { id: 1, name: 'INBOX', uidValidity: 1, uidNext: 1, highestModSeq: 1 }

/** @type {import('../../../../src/imap/session/selected-mailbox.js').Told} */
const NO_NEWS = {
  expunged: new Uint32Array(),
  expungedUids: new Uint32Array(),
  exists: null,
  hasFewerRecent: false,
  flags: [],
  isHeldBack: false,
  isAhead: false
}

/** The shared mailbox, changed as the store would change it. */
class Mailbox {
  view = new MailboxView(MAILBOX)
  #uid = 0
  #modSeq = 1

  /** @param {number} count */
  append(count) {
    const fromSlot = this.view.length
    for (let index = 0; index < count; index++) {
      this.#uid += 1 + (index % 2)
      this.view.append(this.#uid, ++this.#modSeq, 0, 0)
    }
    this.view.publish([{ kind: 'append', fromSlot, toSlot: this.view.length }])
  }

  /** @param {number[]} uids */
  expunge(uids) {
    const slots = uids
      .map((uid) => this.view.slotOf(uid))
      .filter((slot) => slot >= 0 && this.view.bury(slot))
      .sort((a, b) => a - b)
    const after = this.view.highestModSeq
    if (slots.length > 0) this.view.publish([{ kind: 'expunge', slots, after, origin: null }])
  }

  /** @returns {number[]} UIDs of the living */
  get living() {
    const uids = []
    for (let slot = 0; slot < this.view.length; slot++) {
      if (!this.view.isExpunged(slot)) uids.push(this.view.uids[slot] ?? 0)
    }
    return uids
  }
}

/** A client that believes what it is told: UIDs by sequence number. */
class Client {
  /** @type {number[]} */
  uids

  /** @param {Mailbox} mailbox */
  constructor(mailbox) {
    this.mailbox = mailbox
    this.selected = new SelectedMailbox({
      view: mailbox.view,
      isReadOnly: false,
      origin: this,
      onChange: () => {}
    })
    this.uids = mailbox.living
  }

  /** @param {boolean} allowsExpunge */
  hear(allowsExpunge) {
    const { selected } = this
    selected.hold()
    const { expunged, exists } = selected.takeNews({ allowsExpunge })
    for (const sequence of expunged) this.uids.splice(sequence - 1, 1)
    if (exists !== null) {
      assert.ok(exists > this.uids.length, 'EXISTS only grows')
      for (let sequence = this.uids.length + 1; sequence <= exists; sequence++) {
        this.uids.push(selected.view.uids[selected.slotOfSequence(sequence)] ?? 0)
      }
    }
    selected.unhold()
  }

  check() {
    const { selected } = this
    assert.equal(selected.messageCount, this.uids.length)
    assert.equal(selected.maxUid, this.uids.at(-1) ?? 0)
    for (const [index, uid] of this.uids.entries()) {
      const slot = selected.slotOfSequence(index + 1)
      assert.equal(selected.view.uids[slot], uid, 'the number means what the client was told')
      assert.equal(selected.sequenceOfSlot(slot), index + 1)
    }
    const { slots } = selected.resolve(SequenceSet.parse('1:*'), true)
    const living = new Set(this.mailbox.living)
    assert.deepEqual(
      slots.map((slot) => selected.view.uids[slot]),
      this.uids.filter((uid) => living.has(uid)),
      'the living ones that the client knows, once each'
    )
    const modSeqOf = (/** @type {number} */ slot) => selected.view.modSeqs[slot] ?? NaN
    const since = modSeqOf(slots[slots.length >> 1] ?? 0)
    assert.deepEqual(
      selected.resolve(SequenceSet.parse('1:*'), true, since).slots,
      slots.filter((slot) => modSeqOf(slot) > since),
      'of these, what has changed since'
    )
  }
}

test('what a client was told is what its sequence numbers mean, whatever others do', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('append'), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ do: fc.constant('expunge'), picks: fc.array(fc.nat(), { maxLength: 6 }) }),
    fc.record({ do: fc.constant('hear'), who: fc.nat(2), allowsExpunge: fc.boolean() }),
    fc.record({ do: fc.constant('reselect'), who: fc.nat(2) })
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 30 }),
      fc.array(step, { maxLength: 60 }),
      (size, steps) => {
        const mailbox = new Mailbox()
        if (size > 0) mailbox.append(size)
        const clients = [0, 1, 2].map(() => new Client(mailbox))
        for (const action of steps) {
          if (action.do === 'append') mailbox.append(/** @type {any} */ (action).count)
          else if (action.do === 'expunge') {
            const { living } = mailbox
            const picks = /** @type {number[]} */ (/** @type {any} */ (action).picks)
            mailbox.expunge(picks.map((pick) => living[pick % (living.length || 1)] ?? 0))
          } else {
            const { who, allowsExpunge } = /** @type {any} */ (action)
            if (action.do === 'hear') clients[who]?.hear(allowsExpunge)
            else {
              clients[who]?.selected.detach()
              clients[who] = new Client(mailbox)
            }
          }
          for (const client of clients) client.check()
        }
        for (const client of clients) {
          client.hear(true)
          assert.deepEqual(client.uids, mailbox.living, 'in the end everybody knows the same')
        }
      }
    ),
    { numRuns: 300 }
  )
})

test('tombstones that all have been told of are dropped, and numbers stay right', () => {
  const mailbox = new Mailbox()
  mailbox.append(100)
  const clients = [new Client(mailbox), new Client(mailbox)]
  mailbox.expunge(mailbox.living.slice(10, 80))
  clients[0]?.hear(true)
  assert.equal(mailbox.view.length, 100, 'the second client has not been told')
  clients[1]?.hear(false)
  assert.equal(mailbox.view.length, 100, 'it was told, but not of the expunge')
  clients[1]?.hear(true)
  assert.equal(mailbox.view.length, 30)
  for (const client of clients) client.check()
})

test('a sequence number that does not exist is out of range; a UID that does not exist is nothing', () => {
  const mailbox = new Mailbox()
  mailbox.append(3)
  const { selected } = new Client(mailbox)
  const resolve = (/** @type {string} */ set, /** @type {boolean} */ isUid) =>
    selected.resolve(SequenceSet.parse(set), isUid)
  assert.equal(resolve('4', false).isOutOfRange, true)
  assert.equal(resolve('2:4', false).isOutOfRange, true)
  assert.equal(resolve('3:1', false).isOutOfRange, false)
  assert.equal(resolve('*', false).isOutOfRange, false)
  assert.deepEqual(resolve('900', true), { slots: [], isSomeExpunged: false, isOutOfRange: false })
  assert.deepEqual(resolve('900:*', true).slots, [2], 'n:* holds the last message')
})

test('the star is no sequence number in an empty mailbox (RFC 3501 §9)', () => {
  const { selected } = new Client(new Mailbox())
  assert.equal(selected.resolve(SequenceSet.parse('1:*'), false).isOutOfRange, true)
  assert.equal(selected.resolve(SequenceSet.parse('1:*'), true).isOutOfRange, false)
})

test('flag changes of the session itself are no news, those of others are, in order and once', () => {
  const mailbox = new Mailbox()
  mailbox.append(5)
  const client = new Client(mailbox)
  const { view } = mailbox
  view.publish([{ kind: 'flags', slots: [1, 3], origin: client }])
  view.publish([{ kind: 'flags', slots: [2, 4], origin: 'somebody' }])
  view.publish([{ kind: 'flags', slots: [0, 2], origin: 'somebody' }])
  const news = client.selected.takeNews({ allowsExpunge: false })
  assert.deepEqual(news, { ...NO_NEWS, flags: [0, 2, 4] })
})

test('a message that came and went between two looks is never mentioned', () => {
  const mailbox = new Mailbox()
  mailbox.append(2)
  const client = new Client(mailbox)
  mailbox.append(1)
  mailbox.expunge(mailbox.living.slice(-1))
  const news = client.selected.takeNews({ allowsExpunge: true })
  assert.deepEqual(news, NO_NEWS)
})

test('recent messages are counted as the client sees them', () => {
  const mailbox = new Mailbox()
  mailbox.append(4)
  const client = new Client(mailbox)
  const { selected } = client
  const uids = mailbox.living
  selected.recent.add(uids[2] ?? 0, mailbox.view.uidNext)
  assert.equal(selected.recentCount, 2)
  mailbox.append(1)
  client.hear(true)
  assert.equal(selected.recentCount, 2)
  selected.recent.add(mailbox.living[4] ?? 0, mailbox.view.uidNext)
  assert.equal(selected.recentCount, 3)
  mailbox.expunge([uids[3] ?? 0])
  client.hear(true)
  assert.equal(selected.recentCount, 2)
  assert.equal(selected.isRecent(2), true)
  assert.equal(selected.isRecent(1), false)
  selected.recent.clear()
  assert.equal(selected.isRecent(2), false)
  assert.equal(selected.recentCount, 0)
})

test('sorted lists merge without duplicates and are searched by halves', () => {
  const sorted = fc.uniqueArray(fc.nat(50)).map((list) => list.sort((a, b) => a - b))
  fc.assert(
    fc.property(sorted, sorted, fc.nat(60), (left, right, value) => {
      const merged = [...new Set([...left, ...right])].sort((a, b) => a - b)
      const [one, other] = [Uint32Array.from(left), Uint32Array.from(right)]
      assert.deepEqual([...mergeSorted(one, other)], merged)
      const rest = right.filter((item) => !left.includes(item))
      assert.deepEqual([...inOrder([left, rest])], merged)
      assert.equal(countBelow(one, value), left.filter((item) => item < value).length)
    })
  )
})
