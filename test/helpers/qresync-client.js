/**
 * A mail program that keeps its cache as RFC 7162 §6 says, over any number of connections: if the cache differs from the
 * mailbox after the last of them, the server has told it too little.
 */
import assert from 'node:assert/strict'

/** @import { WireClient } from './wire-client.js' */

/** A client with a cache of one mailbox. */
export class QresyncClient {
  /**
   * Flags by UID, without \Recent, which no cache keeps.
   *
   * @type {Map<number, string>}
   */
  cache = new Map()
  /** The HIGHESTMODSEQ that the next resynchronization names. */
  highestModSeq = 0
  /** All messages up to this UID are in the cache, or were. */
  #knownUid = 0
  /**
   * UIDs by sequence number, 0 where it has not been told; null before EXISTS.
   *
   * @type {number[] | null}
   */
  #uids = null
  /** The highest MODSEQ of FETCH responses since the last tagged reply. */
  #fetchedModSeq = 0
  /**
   * HIGHESTMODSEQ that the server has told since the last tagged reply.
   *
   * @type {number | null}
   */
  #toldModSeq = null
  /** @type {WireClient | null} */
  #connection = null

  /** @returns {number} how many messages the mailbox has, as far as this client was told */
  get messageCount() {
    return this.#uids?.length ?? 0
  }

  /**
   * Selects INBOX, is told what it has missed, and fetches what is new.
   *
   * @param {WireClient} connection - logged in
   */
  async resynchronize(connection) {
    this.#connection = connection
    this.#uids = null
    await connection.command('ENABLE QRESYNC')
    const status = await connection.command('STATUS INBOX (UIDVALIDITY)')
    const uidValidity = /UIDVALIDITY (\d+)/.exec(status)?.[1]
    const known = `(QRESYNC (${uidValidity} ${this.highestModSeq}))`
    await this.run(`SELECT INBOX${this.highestModSeq > 0 ? ` ${known}` : ''}`)
    await this.fetchNew()
    await this.run('FETCH 1:* (UID)')
  }

  /** Fetches the flags of messages that are not in the cache yet. */
  async fetchNew() {
    await this.run(`UID FETCH ${this.#knownUid + 1}:* (FLAGS)`)
    this.#knownUid = Math.max(this.#knownUid, ...(this.#uids ?? []))
  }

  /**
   * @param {string} command - which is answered in lines, without literals
   */
  async run(command) {
    const answer = await /** @type {WireClient} */ (this.#connection).command(command)
    const lines = answer.trimEnd().split('\r\n')
    const tagged = lines.pop() ?? ''
    for (const line of lines) this.#take(line, command)
    this.#takeModSeq(tagged)
    // A HIGHESTMODSEQ counts, even if FETCH responses had higher ones.
    this.highestModSeq = this.#toldModSeq ?? Math.max(this.highestModSeq, this.#fetchedModSeq)
    this.#toldModSeq = null
    this.#fetchedModSeq = 0
  }

  /** @param {string} line */
  #takeModSeq(line) {
    const told = /^\S+ OK \[HIGHESTMODSEQ (\d+)\]/.exec(line)
    if (told !== null) this.#toldModSeq = Number(told[1])
  }

  /**
   * @param {string} line - untagged
   * @param {string} command - for messages
   */
  #take(line, command) {
    this.#takeModSeq(line)
    const vanished = /^\* VANISHED (\(EARLIER\) )?([\d,:]+)$/.exec(line)
    if (vanished !== null) {
      for (const uid of numbersOf(vanished[2] ?? '')) {
        if (vanished[1] === undefined) this.#forget(uid, command)
        else assert.equal(this.#uids?.includes(uid), false, `${command}: ${uid} is still there`)
        this.cache.delete(uid)
      }
    }
    const exists = /^\* (\d+) EXISTS$/.exec(line)
    if (exists !== null) {
      const count = Number(exists[1])
      this.#uids ??= []
      assert.ok(count >= this.#uids.length, `${command}: EXISTS takes messages away`)
      while (this.#uids.length < count) this.#uids.push(0)
    }
    const fetched = /^\* (\d+) FETCH \((.*)\)$/.exec(line)
    if (fetched !== null) this.#takeFetch(Number(fetched[1]), fetched[2] ?? '', command)
  }

  /**
   * @param {number} sequence
   * @param {string} items
   * @param {string} command
   */
  #takeFetch(sequence, items, command) {
    const uids = this.#uids ?? []
    assert.ok(sequence <= uids.length, `${command}: there is no message ${sequence}`)
    const known = uids[sequence - 1] ?? 0
    const uid = Number(/UID (\d+)/.exec(items)?.[1] ?? known)
    assert.ok(
      known === 0 || known === uid,
      `${command}: message ${sequence} was ${known}, is ${uid}`
    )
    uids[sequence - 1] = uid
    const flags = /FLAGS \(([^)]*)\)/.exec(items)?.[1]
    if (flags !== undefined && uid > 0) this.cache.set(uid, flagSet(flags))
    this.#fetchedModSeq = Math.max(
      this.#fetchedModSeq,
      Number(/MODSEQ \((\d+)\)/.exec(items)?.[1] ?? 0)
    )
  }

  /**
   * @param {number} uid - of a message that it counts, perhaps without having been told its UID
   * @param {string} command
   */
  #forget(uid, command) {
    const uids = this.#uids ?? []
    const above = uids.findIndex((each) => each > uid)
    const last = (above < 0 ? uids.length : above) - 1
    const at = uids.indexOf(uid) < 0 ? last : uids.indexOf(uid)
    assert.ok(uids[at] === uid || uids[at] === 0, `${command}: ${uid} was never told of`)
    uids.splice(at, 1)
  }
}

/**
 * @param {string} flags - as they stand between the parentheses
 * @returns {string} the flags, sorted, without \Recent
 */
export function flagSet(flags) {
  const names = flags.split(' ').filter((name) => name !== '' && name !== '\\Recent')
  return names.sort().join(' ')
}

/**
 * @param {string} set - without `*`
 * @returns {number[]}
 */
function numbersOf(set) {
  return set.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split(':').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
}
