import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SourceConnection } from '../../../../src/import/imap/source-connection.js'
import { SourcePool } from '../../../../src/import/imap/source-pool.js'
import { parseSourceServer } from '../../../../src/import/imap/source-server.js'
import { startImapSource } from '../../../helpers/imap-source.js'

for (const mayBePlaintext of [false, true])
  test(`a server across a network that has no TLS ${mayBePlaintext ? 'gets the password where that is wanted' : 'gets no password'}`, async (t) => {
    /** @type {string[]} */
    const commands = []
    const { port } = await startImapSource(t, {
      folders: {},
      answer: ({ command }) => {
        commands.push(command)
      }
    })
    const connecting = SourceConnection.connect({
      // This machine by an address that is none of its own.
      server: parseSourceServer(`imap://ann@0.0.0.0:${port}`),
      password: Buffer.from('pass'),
      certificateAuthority: null,
      mayBePlaintext
    })
    if (mayBePlaintext) await (await connecting).close()
    else await assert.rejects(connecting)
    assert.equal(/pass|AUTHENTICATE/.test(commands.join()), mayBePlaintext)
  })

/**
 * @param {number} port
 * @param {number[]} retryMs
 */
const poolOf = (port, retryMs) =>
  new SourcePool({
    login: {
      server: parseSourceServer(`imap://ann@127.0.0.1:${port}`),
      password: Buffer.from('pass'),
      certificateAuthority: null,
      mayBePlaintext: true
    },
    connections: 2,
    retryMs
  })

test('who is refused a further connection takes the one that was given back meanwhile', async (t) => {
  /** @type {((text: string) => unknown)[]} */
  const logins = []
  const { port } = await startImapSource(t, {
    folders: {},
    answer: ({ command, end }) => {
      if (!command.startsWith('LOGIN')) return false
      logins.push(end)
      return logins.length > 1
    }
  })
  const pool = poolOf(port, [])
  const connected = Promise.withResolvers()
  const first = pool.run(null, async () => {
    connected.resolve(null)
    while (logins.length < 2) await turn()
  })
  await connected.promise
  const second = pool.run(null, async () => 'done')
  await first
  logins[1]?.('NO [LIMIT] No more than one')
  while (pool.size > 1) await turn()
  assert.equal(await Promise.race([second, turn('still waits')]), 'done')
  await pool.close()
})

/**
 * @param {import('node:test').TestContext} t
 * @param {{ retryMs: number[] }} options
 */
async function poolWithLostConnect(t, { retryMs }) {
  const seen = { logins: 0 }
  const lost = Promise.withResolvers()
  const { port } = await startImapSource(t, {
    folders: {},
    answer: ({ command, socket }) => {
      if (!command.startsWith('LOGIN') || ++seen.logins !== 2) return false
      socket.destroy()
      socket.once('close', lost.resolve)
      return true
    }
  })
  const pool = poolOf(port, retryMs)
  t.after(() => pool.close())
  const connected = Promise.withResolvers()
  const first = pool.run(null, async () => {
    connected.resolve(null)
    await lost.promise
  })
  await connected.promise
  const second = pool.run(null, async () => 'done')
  await first
  assert.equal(await second, 'done')
  return { pool, seen }
}

test('a connection that is lost as it is made does not lower for good how many there are', async (t) => {
  const { pool } = await poolWithLostConnect(t, { retryMs: [0] })
  assert.equal(pool.size, 2)
  assert.equal((await twoAtOnce(pool)).size, 2)
})

/**
 * @param {SourcePool} pool
 * @returns {Promise<Set<import('../../../../src/import/imap/source-connection.js').SourceConnection>>} of two pieces of work that
 *   wait for each other
 */
async function twoAtOnce(pool) {
  const both = [Promise.withResolvers(), Promise.withResolvers()]
  const used = both.map((mine, index) =>
    pool.run(null, async (connection) => {
      mine.resolve(null)
      await both[1 - index]?.promise
      return connection
    })
  )
  return new Set(await Promise.all(used))
}

test('work at one moment has connections of its own, which are used again, and closed in the end', async (t) => {
  const sockets = new Set()
  const { port } = await startImapSource(t, {
    folders: {},
    answer: ({ socket }) => {
      sockets.add(socket)
    }
  })
  const pool = poolOf(port, [])
  const first = await twoAtOnce(pool)
  assert.equal(first.size, 2)
  assert.deepEqual(await twoAtOnce(pool), first)
  await pool.close()
  assert.deepEqual(
    Array.from(first, ({ isUsable }) => isUsable),
    [false, false]
  )
  assert.equal(sockets.size, 2)
})

test('a server that has let nobody in yet is not tried again', async (t) => {
  let logins = 0
  const { port } = await startImapSource(t, {
    folders: {},
    answer: ({ command, socket }) => {
      if (!command.startsWith('LOGIN')) return false
      logins++
      socket.destroy()
      return true
    }
  })
  await assert.rejects(poolOf(port, [0, 0]).run(null, () => turn()))
  assert.equal(logins, 1)
})

test('a server that drops further connections is not asked for one with each piece of work', async (t) => {
  const { pool, seen } = await poolWithLostConnect(t, { retryMs: [3_600_000] })
  for (let round = 0; round < 5; round++)
    await Promise.all([pool.run(null, () => turn()), pool.run(null, () => turn())])
  assert.equal(seen.logins, 2)
})
