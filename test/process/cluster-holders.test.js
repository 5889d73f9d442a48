/**
 * Which worker has a mailbox open, as the descriptors of the processes tell.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { startCluster } from '../helpers/cluster.js'
import { createAccounts, scratchFolder } from '../helpers/process.js'
import { WireClient } from '../helpers/wire-client.js'

const USERS = Array.from({ length: 6 }, (_, n) => `u${n}@example.org`)
const PATIENT = new URL('../helpers/patient-links.js', import.meta.url)
const skip = !existsSync('/proc/self/task') && 'there is no /proc'

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const data = join(scratchFolder(t, 'holders'), 'data')
  mkdirSync(data)
  await createAccounts(data, USERS)
  const cluster = await startCluster({
    data,
    workers: 3,
    args: ['--allow-plaintext-loopback'],
    environment: { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${PATIENT}`.trim() }
  })
  t.after(() => cluster.stop())
  const logIn = async (/** @type {string} */ user) => {
    const client = await WireClient.connect(cluster.ports.imap)
    t.after(() => client.destroy())
    await client.login(user)
    assert.match(await client.command('SELECT INBOX'), /^w\d+ OK/m)
    return { user, client }
  }
  return { cluster, logIn }
}

/**
 * @param {import('../helpers/cluster.js').Cluster} cluster
 * @returns {Map<string, Set<string>>} processes by the mailbox file that they have open
 */
function openMailboxes({ pid }) {
  const found = new Map()
  const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ')
  for (const worker of workers) {
    for (const descriptor of readdirSync(`/proc/${worker}/fd`)) {
      let file
      try {
        file = readlinkSync(`/proc/${worker}/fd/${descriptor}`)
      } catch {
        // Closed while we look.
        continue
      }
      if (!file.endsWith('/mail.db')) continue
      found.set(file, (found.get(file) ?? new Set()).add(worker))
    }
  }
  return found
}

/** @param {import('../helpers/cluster.js').Cluster} cluster */
function requireOneHolderEach(cluster) {
  const open = openMailboxes(cluster)
  assert.equal(open.size, USERS.length)
  for (const [file, workers] of open) {
    assert.equal(workers.size, 1, `${file} is open in ${[...workers].join(' and ')}`)
  }
}

test(
  'each mailbox is open in one worker: after logins at the same moment, after a death, after a reload',
  { skip },
  async (t) => {
    const { cluster, logIn } = await setUp(t)
    const wanted = USERS.flatMap((user) => [user, user, user, user])
    let sessions = await Promise.all(wanted.map(logIn))
    requireOneHolderEach(cluster)
    for (let round = 0; round < 3; round++) {
      await cluster.kill()
      sessions = await Promise.all(
        sessions.map(async (session) => {
          try {
            assert.match(await session.client.command('NOOP'), /^w\d+ OK/m)
            return session
          } catch {
            // It was served by the worker that died, or came in there.
            return await logIn(session.user)
          }
        })
      )
      requireOneHolderEach(cluster)
    }
    await cluster.reload()
    await Promise.all(wanted.map(logIn))
    requireOneHolderEach(cluster)
  }
)

test(
  'the only session of a user is served where it came in: the death of another worker does not touch it',
  { skip },
  async (t) => {
    const { cluster, logIn } = await setUp(t)
    const sessions = await Promise.all(USERS.map(logIn))
    const before = openMailboxes(cluster)
    const killed = await cluster.kill()
    const lost = [...before.values()].filter((workers) => workers.has(String(killed))).length
    let ended = 0
    for (const { client } of sessions) {
      const answer = await client.command('NOOP').catch(() => null)
      if (answer === null) ended++
      else assert.match(answer, /^w\d+ OK/m)
      assert.ok(!client.received.includes('BYE'), 'it was relayed')
    }
    assert.equal(ended, lost, 'sessions end whose mailbox the dead worker had open')
  }
)
