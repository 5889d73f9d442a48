/**
 * `letterlock import imap` from Dovecot: what is copied is as it was there, UIDs and all, however often the way is cut.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectTo, createServer } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { dovecotIsMissing, startDovecot } from '../helpers/dovecot.js'
import {
  commandOf,
  connect,
  fill,
  PASSWORDS,
  snapshot,
  startTarget
} from '../helpers/moved-account.js'
import { letterlock, MAIN } from '../helpers/process.js'

/** @import { ImapFlow } from 'imapflow' */

/**
 * A UIDVALIDITY is the second in which a mailbox was made, or a later one. Here both servers are a few seconds old, and what one
 * mailbox had while its first messages came is refused to another. So whatever is made next is made in a second of its own.
 *
 * @param {ImapFlow} flow
 * @param {string[]} paths - of its mailboxes
 */
async function untilOlder(flow, paths) {
  for (const path of paths) {
    const { uidValidity } = await flow.mailboxOpen(path, { readOnly: true })
    while (Date.now() / 1000 < Number(uidValidity) + 1) await sleep(50)
  }
}

/** Messages of an account that is copied under difficulties. */
const MANY = process.env['LETTERLOCK_TEST_TORTURE'] === undefined ? 1400 : 20_000

/**
 * A way to a server that stands still once it has carried an allowance of the
 * server's bytes, and that can be cut: so what happens half-way of a copy does
 * not depend on how fast the copy is.
 *
 * @param {import('node:test').TestContext} t
 * @param {number} port
 */
async function wayTo(t, port) {
  /** @type {Map<import('node:net').Socket, import('node:net').Socket>} the server's side of each client's */
  const open = new Map()
  let allowance = Infinity
  const isSpent = () => allowance <= 0
  const server = createServer((near) => {
    const far = connectTo(port, '127.0.0.1')
    open.set(near, far)
    near.on('close', () => {
      open.delete(near)
      far.destroy()
    })
    far.on('close', () => near.destroy())
    for (const socket of [near, far]) socket.on('error', () => {})
    near.pipe(far)
    far.on('data', (bytes) => {
      near.write(bytes)
      allowance -= bytes.length
      if (isSpent()) for (const each of open.values()) each.pause()
    })
    if (isSpent()) far.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  /** @returns {number} how many connections were ended */
  const cut = () => {
    const { size } = open
    for (const socket of open.keys()) socket.destroy()
    return size
  }
  t.after(() => {
    cut()
    server.close()
  })
  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    cut,
    /** @param {number} bytes that go through before it stands still */
    allow: (bytes) => {
      allowance = bytes
      for (const far of open.values()) far.resume()
    },
    isSpent
  }
}

test(
  'from Dovecot: UIDs, UIDVALIDITY and uses are those of the source, and stay so in later runs',
  { skip: dovecotIsMissing },
  async (t) => {
    const target = await startTarget(t)
    await untilOlder(await target.read(), ['INBOX'])
    const { port } = await startDovecot(t)
    const source = { port, user: 'u1' }
    const there = await connect(t, source)
    await fill(there, { count: 200, folders: ['INBOX'] })
    await fill(there, { count: 60, folders: ['Lists', 'Lists.Größe'] })
    await untilOlder(there, ['INBOX', 'Lists', 'Lists.Größe'])
    await there.mailboxOpen('INBOX')
    await there.messageDelete('10:19,190:200')
    const check = async () => {
      const { code, stdout, stderr } = await letterlock(commandOf(target, source), {
        input: PASSWORDS
      })
      assert.equal(code, 0, stderr)
      const here = await target.read()
      const [found, wanted] = [await snapshot(here), await snapshot(there)]
      for (const name of ['INBOX', 'Lists', 'Lists/Größe']) {
        assert.deepEqual(found[name], wanted[name], name)
      }
      const uses = (await here.list()).map(({ path, specialUse }) => [path, specialUse])
      assert.ok(uses.some(([path, use]) => path === 'Gesendet' && use === '\\Sent'))
      assert.ok(!uses.some(([path]) => path === 'Sent'), 'the empty one of a new account is gone')
      return stdout
    }
    assert.match(await check(), /^copied 239, /m)
    await there.mailboxOpen('Lists')
    await there.messageDelete('2:4')
    await there.messageFlagsAdd('1', ['\\Answered', 'Later'])
    await fill(there, { count: 7, folders: ['INBOX'] })
    assert.match(
      await check(),
      /^copied 7, there already 236, flags changed 1, deleted 3, failed 0/m
    )
  }
)

test(
  `from Dovecot, ${MANY} messages, the connections cut and the copy killed three times: once and only once, UIDs kept`,
  { skip: dovecotIsMissing },
  async (t) => {
    const target = await startTarget(t)
    await untilOlder(await target.read(), ['INBOX'])
    const { port } = await startDovecot(t)
    const way = await wayTo(t, port)
    const source = { port: way.port, user: 'u1' }
    // One connection: Dovecot 2.3 ends a session that meets others in its list of mailboxes ("Resource deadlock avoided").
    const there = await connect(t, { port, user: 'u1' })
    await fill(there, { count: 20, folders: ['Lists', 'Lists.Größe'] })
    await fill(there, { count: MANY - 20, folders: ['INBOX'] })
    await there.mailboxOpen('INBOX')
    await there.messageDelete('10:19')
    const wanted = MANY - 10

    let bytes = 0
    for await (const { size } of there.fetch('1:*', { size: true })) bytes += size ?? 0
    const here = await target.read()
    const countHere = async () => {
      const status = await here.status('INBOX', { messages: true })
      return (status && status.messages) || 0
    }
    // Three rounds of 28 % leave something to do; and a quarter is more than the three batches of 100 that are under way
    // at once over two connections, so that in each round one becomes whole.
    const command = [MAIN, ...commandOf(target, source, ['--connections', '2'])]
    let before = 0
    for (let round = 1; round <= 3; round++) {
      way.allow(bytes * 0.03)
      const child = spawn(process.execPath, command, {
        stdio: ['pipe', 'ignore', 'ignore'],
        env: { ...process.env, LETTERLOCK_AUTH_ARGON2_MEMORY_KIB: String(19 * 1024) }
      })
      const closed = once(child, 'close')
      child.stdin.end(PASSWORDS)
      const until = async (/** @type {() => boolean | Promise<boolean>} */ isThere) => {
        while (!(await isThere())) {
          assert.equal(child.exitCode, null, 'the copy has ended by itself')
          await sleep(5)
        }
      }
      // The connections are lost once on the way; the copy makes new ones.
      await until(way.isSpent)
      assert.ok(way.cut() > 0)
      way.allow(bytes * 0.25)
      await until(way.isSpent)
      const beforeRound = before
      await until(async () => (await countHere()) > beforeRound)
      child.kill('SIGKILL')
      assert.deepEqual(await closed, [null, 'SIGKILL'])
      before = await countHere()
      t.diagnostic(`${before} messages were there when it was killed`)
    }
    assert.ok(before < wanted, 'there was something left to do')
    way.allow(Infinity)
    const last = await letterlock(commandOf(target, source), { input: PASSWORDS })
    assert.equal(last.code, 0, last.stderr)
    assert.match(last.stdout, / failed 0, /)
    t.diagnostic(last.stdout.trim())
    const compare = async () => {
      const [found, expected] = [await snapshot(await target.read()), await snapshot(there)]
      for (const name of ['INBOX', 'Lists', 'Lists/Größe'])
        assert.deepEqual(found[name], expected[name], name)
    }
    await compare()

    // Some days later.
    await there.mailboxOpen('INBOX')
    await there.messageFlagsAdd('1:7', ['\\Answered', 'Later'])
    await there.messageDelete('20:29')
    await fill(there, { count: 25, folders: ['INBOX'] })
    const again = await letterlock(commandOf(target, source), { input: PASSWORDS })
    assert.match(
      again.stdout,
      new RegExp(
        `^copied 25, there already ${wanted - 10}, flags changed 7, deleted 10, failed 0, `,
        'm'
      )
    )
    await compare()
  }
)
