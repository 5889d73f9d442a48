import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createAccounts,
  letterlock,
  scratchFolder,
  startServerProcess
} from '../helpers/process.js'
import { WireClient, connectLmtp, deliverOver } from '../helpers/wire-client.js'

const ROUNDS = process.env['LETTERLOCK_TEST_TORTURE'] ? 200 : 10
const USER = 'user@example.org'

/**
 * @param {string} id
 * @param {number} padding - bytes
 */
const message = (id, padding) =>
  Buffer.from(
    `Message-ID: <${id}@crash>\r\nFrom: a@example.net\r\nSubject: ${id}\r\n\r\n${'x'.repeat(70)}\r\n`.padEnd(
      padding,
      'line after line\r\n'
    )
  )

/**
 * Appends until the connection dies, and notes what was acknowledged.
 *
 * @param {number} port
 * @param {string} prefix
 * @param {Map<string, number>} acknowledged - Message-ID to UID
 */
async function appendUntilDeath(port, prefix, acknowledged) {
  try {
    const client = await WireClient.connect(port)
    await client.login(USER)
    for (let i = 0; ; i++) {
      const id = `${prefix}-${i}`
      // Some messages are streamed in chunks of their own before the last transaction.
      const answer = await client.command('APPEND INBOX', message(id, i % 7 === 3 ? 600_000 : 2000))
      const uid = /OK \[APPENDUID \d+ (\d+)\]/.exec(answer)?.[1]
      assert.ok(uid, answer)
      acknowledged.set(id, Number(uid))
    }
  } catch (error) {
    if (!/closed while waiting|ECONN/.test(String(error))) throw error
  }
}

/**
 * @param {number} port
 * @param {string} prefix
 * @param {Set<string>} acknowledged
 */
async function deliverUntilDeath(port, prefix, acknowledged) {
  try {
    const client = await connectLmtp(port)
    for (let i = 0; ; i++) {
      const id = `${prefix}-${i}`
      const reply = await deliverOver(client, { to: USER, message: message(id, 3000) })
      assert.match(reply, /^250 /)
      acknowledged.add(id)
    }
  } catch (error) {
    if (!/closed while waiting|ECONN/.test(String(error))) throw error
  }
}

test(`kill -9 during APPEND and LMTP, ${ROUNDS} times: what was acknowledged is there, no UID is used twice`, async (t) => {
  const folder = scratchFolder(t, 'crash')
  const data = join(folder, 'data')
  mkdirSync(data)
  await createAccounts(data, [USER])
  /** @type {Map<string, number>} */
  const appended = new Map()
  /** @type {Set<string>} */
  const delivered = new Set()

  const isEnough = () => appended.size > ROUNDS && delivered.size > ROUNDS
  // A slow machine needs more rounds, and longer ones, until there is something to lose.
  for (let round = 0; round < ROUNDS || (round < 5 * ROUNDS && !isEnough()); round++) {
    const server = await startServerProcess(t, { data })
    const work = [
      appendUntilDeath(server.ports.imap, `a${round}x`, appended),
      appendUntilDeath(server.ports.imap, `a${round}y`, appended),
      deliverUntilDeath(server.ports.lmtp, `d${round}`, delivered)
    ]
    // From the middle of the first login to some hundred messages later.
    await sleep(100 + ((round * 379) % 900) * Math.ceil((round + 1) / ROUNDS))
    await server.kill()
    await Promise.all(work)
  }
  t.diagnostic(
    `${appended.size} appended and ${delivered.size} delivered messages were acknowledged`
  )
  assert.ok(isEnough(), 'the rounds were too short to prove anything')

  const server = await startServerProcess(t, { data })
  const client = await WireClient.connect(server.ports.imap)
  await client.login(USER)
  await client.command('SELECT INBOX')
  const listing = await client.command('UID FETCH 1:* (UID BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])')
  /** @type {Map<string, number[]>} */
  const found = new Map()
  for (const [, uid, id] of listing.matchAll(/UID (\d+) [^]*?<([^@>]+)@crash>/g)) {
    found.set(String(id), [...(found.get(String(id)) ?? []), Number(uid)])
  }
  const uids = [...listing.matchAll(/\(UID (\d+)/g)].map(([, uid]) => Number(uid))
  assert.equal(new Set(uids).size, uids.length)
  for (const [id, uid] of appended) assert.deepEqual(found.get(id), [uid], id)
  for (const id of delivered) assert.ok(found.get(id), id)
  client.destroy()
  assert.equal(await server.stop(), 0)

  const check = await letterlock(['check', '--data', data, USER, '--password-stdin'], {
    input: 'pass\n'
  })
  assert.equal(check.code, 0, check.stdout + check.stderr)
})
