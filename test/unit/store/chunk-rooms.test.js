/**
 * The rooms in which incoming messages are filled go from one to the next; nothing else does.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import { giveRoomBack, takeRoom } from '../../../src/store/chunk-rooms.js'
import { accountFolder, aliveUids, readBytes } from '../../helpers/account-folder.js'

const SECRET = Buffer.from('what the message before said')

test('a room is wiped before the next message gets it', () => {
  const room = takeRoom(100)
  assert.equal(room.length, CHUNK_BYTES)
  SECRET.copy(room, 1000)
  giveRoomBack(room, 1000 + SECRET.length)
  const next = takeRoom(100)
  assert.equal(next, room)
  assert.ok(!next.includes(SECRET))
  giveRoomBack(next, 0)
})

test('with many at once the later ones get as much as they expect, and leave nothing behind', () => {
  const rooms = Array.from({ length: 20 }, () => takeRoom(100))
  assert.equal(new Set(rooms.map(({ buffer }) => buffer)).size, 20)
  const ownBytes = rooms.map(({ length }) => length)
  assert.equal(ownBytes.filter((length) => length === 100).length, 16)
  for (const room of rooms) giveRoomBack(room, room.length)
  assert.equal(takeRoom(CHUNK_BYTES).length, CHUNK_BYTES)
})

test('messages that come at the same time, some given up, some that do not compress, keep to their own bytes', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const messages = Array.from({ length: 24 }, (_, number) => {
    const text = Buffer.from(`Subject: ${number}\r\n\r\n`)
    const sizeBytes = [20, 5000, CHUNK_BYTES + 7, 3 * CHUNK_BYTES][number % 4] ?? 0
    const isNoise = number % 3 === 0
    return Buffer.concat([text, isNoise ? randomBytes(sizeBytes) : Buffer.alloc(sizeBytes, 'ab ')])
  })
  const writers = []
  // Every other hint is too low.
  for (const [number, { length }] of messages.entries())
    writers.push(await store.stageContent({ sizeHint: number % 2 === 0 ? length : 10 }))
  const pieceBytes = 50_000
  for (let at = 0; at < 4 * CHUNK_BYTES; at += pieceBytes) {
    for (const [number, writer] of writers.entries())
      await writer.write(messages[number]?.subarray(at, at + pieceBytes) ?? Buffer.alloc(0))
  }
  const kept = []
  for (const [number, writer] of writers.entries()) {
    if (number % 5 === 4) await writer.abort()
    else kept.push({ content: await writer.finish(), flags: [], internalDate: null })
  }
  await store.appendMessages('INBOX', kept)
  const { view } = await store.openView('INBOX')
  const expected = messages.filter((_, number) => number % 5 !== 4)
  for (const [index, uid] of aliveUids(view).entries())
    assert.ok((await readBytes(store, view, uid)).equals(expected[index] ?? Buffer.alloc(0)))
  assert.equal(view.aliveCount, expected.length)
  assert.deepEqual((await store.verify()).problems, [])
})

test('a message that is complete and then given up leaves its room to one other, not to two', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const given = await store.stageContent({ sizeHint: 100 })
  await given.write(SECRET)
  await given.finish()
  await given.abort()
  const messages = ['one', 'another'].map((name) => Buffer.from(`Subject: ${name}\r\n\r\nbody\r\n`))
  const writers = []
  for (const message of messages) {
    const writer = await store.stageContent({ sizeHint: message.length })
    await writer.write(message)
    writers.push(writer)
  }
  for (const writer of writers)
    await store.appendMessages('INBOX', [
      { content: await writer.finish(), flags: [], internalDate: null }
    ])
  const { view } = await store.openView('INBOX')
  for (const [index, uid] of aliveUids(view).entries())
    assert.deepEqual(await readBytes(store, view, uid), messages[index])
})
