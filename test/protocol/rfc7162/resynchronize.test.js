/** Whoever resynchronizes knows what there is, whenever the connections before were lost (RFC 7162 §3.2, §6). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { loggedIn, MAIL } from '../../helpers/logged-in.js'
import { flagSet, QresyncClient } from '../../helpers/qresync-client.js'
import { startImapServer } from '../../helpers/server.js'

/** @import { WireClient } from '../../helpers/wire-client.js' */

/** Connections that the client loses, and after how many of them its cache is compared. */
const CONNECTIONS = 60
const COMPARED_EACH = 6
const FLAGS = ['\\Seen', '\\Flagged', '\\Deleted', '\\Answered', 'one', 'two']

/**
 * @param {number} seed
 * @returns {(below: number) => number} the same series each time; whose turn it is differs
 */
function numbersFrom(seed) {
  let state = seed
  return (below) => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}

/**
 * @param {WireClient} client - INBOX is selected
 * @param {(below: number) => number} random
 */
async function changeSomething(client, random) {
  const uid = 1 + random(300)
  const flag = FLAGS[random(FLAGS.length)]
  switch (random(9)) {
    case 0:
    case 1:
    case 2:
      return await client.command(`APPEND INBOX (${flag})`, MAIL)
    case 3:
    case 4:
      return await client.command(`UID STORE ${uid}:${uid + 20} +FLAGS.SILENT (${flag})`)
    case 5:
      return await client.command(`UID STORE ${uid}:${uid + 20} -FLAGS.SILENT (${flag})`)
    case 6:
      return await client.command('EXPUNGE')
    case 7:
      return await client.command(`UID MOVE ${uid}:${uid + 3} Trash`)
    default:
      return await client.command(`UID MOVE ${uid} INBOX`)
  }
}

/**
 * @param {QresyncClient} client
 * @param {(below: number) => number} random
 */
async function doSomething(client, random) {
  const number = 1 + random(Math.max(1, client.messageCount))
  const flag = FLAGS[random(FLAGS.length)]
  const commands = [
    'NOOP',
    'SEARCH ALL',
    'UID SEARCH UNSEEN',
    'EXPUNGE',
    `UID FETCH 1:* (FLAGS) (CHANGEDSINCE ${client.highestModSeq} VANISHED)`
  ]
  if (client.messageCount > 0) {
    commands.push(`FETCH ${number} (UID FLAGS MODSEQ)`, `STORE ${number} +FLAGS (${flag})`)
    commands.push(`STORE ${number} -FLAGS (${flag})`, `FETCH ${number} (MODSEQ)`)
  }
  await client.run(commands[random(commands.length)] ?? 'NOOP')
}

/**
 * @param {WireClient} client - INBOX is selected
 * @returns {Promise<string[]>} UID and flags of every message
 */
async function listing(client) {
  const answer = await client.command('UID FETCH 1:* (FLAGS)')
  const lines = answer.matchAll(/UID (\d+) FLAGS \(([^)]*)\)/g)
  return [...lines].map(([, uid, flags = '']) => `${uid} ${flagSet(flags)}`)
}

for (const seed of [1, 2]) {
  test(`a client that loses its connections beside two that write knows what there is, seed ${seed}`, async (t) => {
    const server = await startImapServer(t)
    const random = numbersFrom(seed)
    const writers = [await loggedIn(t, server), await loggedIn(t, server)]
    for (const writer of writers) await writer.command('SELECT INBOX')
    const client = new QresyncClient()
    for (let round = 0; round < CONNECTIONS / COMPARED_EACH; round++) {
      const over = new AbortController()
      const writing = writers.map(async (writer) => {
        while (!over.signal.aborted) {
          await changeSomething(writer, random)
          await sleep(random(4))
        }
      })
      try {
        for (let index = 0; index < COMPARED_EACH; index++) {
          const connection = await loggedIn(t, server)
          await client.resynchronize(connection)
          for (let left = random(8); left > 0; left--) await doSomething(client, random)
          if (random(2) === 0) await client.fetchNew()
          connection.destroy()
        }
      } finally {
        over.abort()
        await Promise.all(writing)
      }
      const connection = await loggedIn(t, server)
      await client.resynchronize(connection)
      const known = [...client.cache].sort(([left], [right]) => left - right)
      const believed = known.map(([uid, flags]) => `${uid} ${flags}`)
      assert.deepEqual(believed, await listing(connection))
      connection.destroy()
    }
  })
}
