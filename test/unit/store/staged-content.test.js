/**
 * Of a message that comes alone nothing is made before somebody asks: later, and the same.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import { giveRoomBack, takeRoom } from '../../../src/store/chunk-rooms.js'
import { accountFolder, makeMessage } from '../../helpers/account-folder.js'

/**
 * @param {import('../../helpers/account-folder.js').AccountStore} store
 * @param {Buffer} bytes
 * @param {{ isAlone: boolean, keptBytes?: number }} options
 */
async function staged(store, bytes, options) {
  const writer = await store.stageContent({ sizeHint: bytes.length, ...options })
  for (let at = 0; at < bytes.length; at += 1000) await writer.write(bytes.subarray(at, at + 1000))
  return { writer, content: await writer.finish() }
}

/** @param {number} bytes */
const noise = (bytes) => Buffer.concat([Buffer.from('Subject: noise\r\n\r\n'), randomBytes(bytes)])

for (const [title, bytes, isMadeLate] of /** @type {const} */ ([
  ['a short text', makeMessage('short'), true],
  ['one that does not shrink', noise(5000), true],
  ['base64', makeMessage('packed', 70_000), true],
  ['a byte less than a chunk', makeMessage('nearly', CHUNK_BYTES - 1), true],
  ['a chunk', makeMessage('just', CHUNK_BYTES), true],
  ['a byte more than a chunk', makeMessage('more', CHUNK_BYTES + 1), false],
  ['several chunks in the file', makeMessage('long', 400_000), false],
  ['nothing at all', Buffer.alloc(0), false]
])) {
  test(`${title}: what is made when somebody asks is what is made at once`, async (t) => {
    const store = await (await accountFolder(t)).create()
    const { content: atOnce } = await staged(store, bytes, { isAlone: false })
    const { content: alone } = await staged(store, bytes, { isAlone: true })
    assert.notEqual(atOnce.madeMeta, null)
    assert.equal(alone.madeMeta === null, isMadeLate)
    if (isMadeLate) assert.ok(alone.heldBytes < atOnce.heldBytes)
    assert.deepEqual(alone.hash, atOnce.hash)
    assert.deepEqual(alone.meta, atOnce.meta)
    assert.deepEqual(alone.madeMeta, atOnce.meta)
    assert.equal(alone.heldBytes, atOnce.heldBytes)
    const memory = alone.chunks.reduce((sum, { data }) => sum + data.buffer.byteLength, 0)
    assert.ok(memory < alone.heldBytes, 'what a command may hold is counted by it')
  })
}

test('a short one whose chunk has gone into the file is made at once: it is not here any more', async (t) => {
  const store = await (await accountFolder(t)).create()
  const { content } = await staged(store, makeMessage('far'), { isAlone: true, keptBytes: 0 })
  assert.deepEqual(content.chunks, [])
  assert.ok(content.madeMeta?.envelope.includes('far'))
})

test('the room of the message is back with its end, wiped, even if nobody wants the message', async (t) => {
  const store = await (await accountFolder(t)).create()
  const { writer } = await staged(store, makeMessage('what it said'), { isAlone: true })
  const rooms = Array.from({ length: 20 }, () => takeRoom(1))
  assert.equal(rooms.filter(({ length }) => length === CHUNK_BYTES).length, 4)
  assert.ok(!rooms.some((room) => room.includes('what it said')))
  for (const room of rooms) giveRoomBack(room, 0)
  await writer.abort()
})
