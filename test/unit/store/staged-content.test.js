/**
 * What is made of a message that comes alone is made after its commit has set out for the disk: later, and the same.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { parseMessage } from '../../../src/mime/parse-message.js'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import { giveRoomBack, takeRoom } from '../../../src/store/chunk-rooms.js'
import { StagedContent } from '../../../src/store/staged-content.js'
import { accountFolder, makeMessage } from '../../helpers/account-folder.js'

/**
 * @param {import('../../helpers/account-folder.js').AccountStore} store
 * @param {Buffer} bytes
 * @param {boolean} isAlone
 */
async function staged(store, bytes, isAlone) {
  const writer = await store.stageContent({ sizeHint: bytes.length, isAlone })
  for (let at = 0; at < bytes.length; at += 1000) await writer.write(bytes.subarray(at, at + 1000))
  return { writer, content: await writer.finish() }
}

/** @param {number} count */
const takeRooms = (count) => Array.from({ length: count }, () => takeRoom(1))

test('it is the same, whether it was asked for before, made at its time, or made at once', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  for (const sizeBytes of [200, 70_000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 400_000]) {
    const bytes = makeMessage(`${sizeBytes}`, sizeBytes)
    const { content: atOnce } = await staged(store, bytes, false)
    const { content: asked } = await staged(store, bytes, true)
    const { content: late } = await staged(store, bytes, true)
    assert.deepEqual(asked.meta, atOnce.meta)
    assert.deepEqual(asked.hash, late.hash)
    await turn()
    assert.deepEqual(late.meta, atOnce.meta)
    assert.equal(late.heldBytes, atOnce.heldBytes)
  }
})

test('the room of the message is back after that turn, wiped, even if nobody wants the message', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const bytes = makeMessage('what it said')
  const { writer } = await staged(store, bytes, true)
  await writer.abort()
  const kept = takeRooms(20).filter(({ length }) => length === CHUNK_BYTES)
  for (const room of kept) giveRoomBack(room, 0)
  await turn()
  const again = takeRooms(20).filter(({ length }) => length === CHUNK_BYTES)
  assert.equal(again.length, kept.length + 1)
  assert.ok(!again.some((room) => room.includes('what it said')))
  for (const room of again) giveRoomBack(room, 0)
})

test('where no room is left for others, it is made at once', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const others = takeRooms(3)
  const { content } = await staged(store, makeMessage('the fourth'), true)
  const last = takeRoom(1)
  assert.equal(last.length, CHUNK_BYTES)
  for (const room of [...others, last]) giveRoomBack(room, 0)
  assert.ok(content.meta.envelope.includes('the fourth'))
})

test('a message that cannot be made anything of is refused at once, and late harms nobody', async () => {
  let calls = 0
  const options = {
    size: 5,
    hash: Buffer.alloc(32),
    contentId: null,
    chunks: [],
    chunkCount: 0,
    parse: () => {
      calls++
      throw new RangeError('a fault of the program')
    }
  }
  assert.throws(() => new StagedContent({ ...options, isLate: false }), RangeError)
  const late = new StagedContent({ ...options, isLate: true })
  await turn()
  assert.equal(calls, 2)
  assert.equal(late.tryMeta(), null)
  assert.throws(() => late.meta, TypeError)
  assert.equal(calls, 2)
  const parse = () => parseMessage(makeMessage('sound'))
  assert.ok(new StagedContent({ ...options, parse, isLate: true }).tryMeta())
})
