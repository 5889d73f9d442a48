/**
 * Clients that append, read, flag, wait in IDLE and deliver, come back whenever their connection ends, and remember every change
 * that was acknowledged to them.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { WireClient, connectLmtp, deliverOver } from './wire-client.js'

const LOST = /closed while waiting|ECONN|EPIPE|socket disconnected/

/**
 * @param {string} id
 * @returns {Buffer}
 */
const message = (id) =>
  Buffer.from(`Message-ID: <${id}@load>\r\nFrom: a@example.net\r\nSubject: ${id}\r\n\r\nbody\r\n`)

/** The changes that were acknowledged to one account. */
class Promised {
  /** @type {Map<string, number>} Message-ID to UID */
  appended = new Map()
  /** @type {Set<number>} UIDs */
  flagged = new Set()
  /** @type {Set<string>} Message-IDs */
  delivered = new Set()
}

/**
 * @param {WireClient} client - in INBOX
 * @returns {Promise<{ found: Map<string, number[]>, flagged: Set<number> }>} UIDs by Message-ID, and UIDs
 */
async function readAll(client) {
  const listing = await client.command(
    'UID FETCH 1:* (UID FLAGS BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])'
  )
  /** @type {Map<string, number[]>} */
  const found = new Map()
  /** @type {Set<number>} */
  const flagged = new Set()
  for (const [, uid, flags, id] of listing.matchAll(
    /\(UID (\d+) FLAGS \(([^)]*)\)[^<]*<([^@>]+)@load>/g
  )) {
    found.set(String(id), [...(found.get(String(id)) ?? []), Number(uid)])
    if (String(flags).includes('\\Flagged')) flagged.add(Number(uid))
  }
  return { found, flagged }
}

/** Load on a server, from `start` to `stop`. */
export class MixedLoad {
  #ports
  #isStopped = false
  #pauseMs = 5
  /** @type {Promise<void>[]} */
  #clients = []
  /** @type {Map<string, Promised>} by account */
  promised = new Map()
  /** @type {Map<string, number>} when each client that is away lost its connection */
  #lostAt = new Map()
  /** @type {number[]} */
  #awayMs = []

  /** @param {{ imap: number, imaps: number, lmtp: number }} ports - on 127.0.0.1 */
  constructor(ports) {
    this.#ports = ports
  }

  /**
   * @param {string[]} users
   * @param {{ writers: number, idlers: number, deliverers: number, pauseMs?: number }} counts - over all users; `pauseMs`:
   *   between two changes of a client
   */
  start(users, { writers, idlers, deliverers, pauseMs = 5 }) {
    this.#pauseMs = pauseMs
    for (const user of users) this.promised.set(user, new Promised())
    const begin = (
      /** @type {number} */ count,
      /** @type {(user: string, n: number) => Promise<void>} */ run
    ) => {
      for (let n = 0; n < count; n++) {
        this.#clients.push(run(/** @type {string} */ (users[n % users.length]), n))
      }
    }
    begin(writers, (user, n) =>
      this.#connected(`writer ${n}`, user, n, (client) => this.#write(client, user, n))
    )
    begin(idlers, (user, n) =>
      this.#connected(`idler ${n}`, user, n, (client) => this.#idle(client))
    )
    begin(deliverers, (user, n) => this.#deliver(user, n))
  }

  /** Ends all clients once their current command is done. */
  async stop() {
    this.#isStopped = true
    await Promise.all(this.#clients)
  }

  /** Waits until no client is without a server. */
  async everyoneBack() {
    while (this.#lostAt.size > 0) await sleep(10)
  }

  /** @returns {number[]} how long each client that lost its connection was without a server since this was last asked, ms */
  takeAwayMs() {
    return this.#awayMs.splice(0)
  }

  /** @param {string} name - of a client */
  #isLost(name) {
    if (!this.#lostAt.has(name)) this.#lostAt.set(name, performance.now())
  }

  /** @param {string} name - of a client that is served */
  #isBack(name) {
    const lostAt = this.#lostAt.get(name)
    if (lostAt === undefined) return
    this.#lostAt.delete(name)
    this.#awayMs.push(performance.now() - lostAt)
  }

  /** @param {string} user */
  #promisedTo(user) {
    return /** @type {Promised} */ (this.promised.get(user))
  }

  /**
   * @param {string} name
   * @param {string} user
   * @param {number} n
   * @param {(client: WireClient) => Promise<void>} work - one round
   */
  async #connected(name, user, n, work) {
    while (!this.#isStopped) {
      /** @type {WireClient | null} */
      let client = null
      try {
        const isTls = n % 2 === 0
        client = await WireClient.connect(isTls ? this.#ports.imaps : this.#ports.imap, { isTls })
        await client.login(user)
        const selected = await client.command('SELECT INBOX')
        assert.match(selected, /^w\d+ OK/m)
        this.#isBack(name)
        while (!this.#isStopped) await work(client)
      } catch (error) {
        // A login that falls between two workers may be told to come back.
        const isRefused = /NO \[(UNAVAILABLE|INUSE|SERVERBUG)|BYE/.test(String(error))
        if (!LOST.test(String(error)) && !isRefused) throw error
        this.#isLost(name)
        await sleep(20)
      } finally {
        client?.destroy()
      }
    }
  }

  /**
   * @param {WireClient} client
   * @param {string} user
   * @param {number} n
   */
  async #write(client, user, n) {
    const promised = this.#promisedTo(user)
    const id = `a${n}-${promised.appended.size}-${Math.round(performance.now() * 1000)}`
    const answer = await client.command('APPEND INBOX', message(id))
    const uid = Number(/OK \[APPENDUID \d+ (\d+)\]/.exec(answer)?.[1])
    assert.ok(uid > 0, answer)
    promised.appended.set(id, uid)
    const flagged = await client.command(`UID STORE ${uid} +FLAGS.SILENT (\\Flagged)`)
    assert.match(flagged, /^w\d+ OK/m)
    promised.flagged.add(uid)
    const read = await client.command(`UID FETCH ${uid} BODY.PEEK[]`)
    assert.ok(read.includes(message(id).toString('latin1')), read)
    await sleep(this.#pauseMs)
  }

  /** @param {WireClient} client */
  async #idle(client) {
    client.send('idle IDLE\r\n')
    await client.until(/\+ idling\r\n/)
    await sleep(300)
    client.send('DONE\r\n')
    await client.until(/idle OK [^\r]*\r\n/)
  }

  /**
   * @param {string} user
   * @param {number} n
   */
  async #deliver(user, n) {
    const { delivered } = this.#promisedTo(user)
    const name = `deliverer ${n}`
    for (let i = 0; !this.#isStopped;) {
      /** @type {WireClient | null} */
      let client = null
      try {
        client = await connectLmtp(this.#ports.lmtp)
        while (!this.#isStopped) {
          const id = `d${n}-${i++}-${process.pid}`
          const reply = await deliverOver(client, { to: user, message: message(id) })
          if (reply.startsWith('421')) {
            this.#isLost(name)
            break
          }
          assert.match(reply, /^250 /)
          delivered.add(id)
          this.#isBack(name)
          await sleep(this.#pauseMs)
        }
      } catch (error) {
        if (!LOST.test(String(error))) throw error
        this.#isLost(name)
        await sleep(20)
      } finally {
        client?.destroy()
      }
    }
  }

  /**
   * @returns {Promise<{ appended: number, delivered: number }>} numbers of acknowledged messages, all of which were found
   * @throws {assert.AssertionError}
   */
  async verify() {
    let appended = 0
    let delivered = 0
    for (const [user, promised] of this.promised) {
      const client = await WireClient.connect(this.#ports.imap)
      await client.login(user)
      await client.command('SELECT INBOX')
      let { found, flagged } = await readAll(client)
      // The last deliveries are announced a moment after their 250. The same session must hear of them.
      for (let tries = 0; tries < 100; tries++) {
        if ([...promised.delivered].every((id) => found.has(id))) break
        await sleep(100)
        ;({ found, flagged } = await readAll(client))
      }
      client.destroy()
      const uids = [...found.values()].flat()
      assert.equal(new Set(uids).size, uids.length, 'a UID was given twice')
      for (const [id, uid] of promised.appended) assert.deepEqual(found.get(id), [uid], id)
      for (const uid of promised.flagged) assert.ok(flagged.has(uid), `flag of UID ${uid}`)
      for (const id of promised.delivered) assert.equal(found.get(id)?.length, 1, id)
      appended += promised.appended.size
      delivered += promised.delivered.size
    }
    return { appended, delivered }
  }
}
