/**
 * The holders of several workers in one process, with links between them that keep the order of messages, take their time
 * and end when a worker dies. Each worker hears of a death or a leave when its link says so, not before.
 */
import { Holders } from '../../src/cluster/holders.js'
import { registrarAmong } from '../../src/cluster/registrar.js'

/**
 * @typedef {object} Member
 * @property {number} slot
 * @property {number} generation
 * @property {number} pid
 * @property {string} path
 * @property {Holders} holders
 * @property {Map<string, { member: Member, isLeaving: boolean }>} known - the others, as this one sees them
 * @property {boolean} isLeaving
 * @property {boolean} isDead
 * @property {boolean} isSilent - hangs
 */

/** Workers by path. */
export class WorkersInMemory {
  /** @type {Map<string, Member>} */
  members = new Map()
  /** @type {Map<string, Promise<unknown>>} the last thing on its way, by link */
  #wires = new Map()
  #delay
  #settleMs
  #count = 0

  /**
   * @param {object} [options]
   * @param {() => number} [options.delay] - turns of the loop that the next thing takes
   * @param {number} [options.settleMs] - as of `Holders`
   */
  constructor({ delay = () => 1, settleMs = 0 } = {}) {
    this.#delay = delay
    this.#settleMs = settleMs
  }

  /** @returns {Member[]} that live */
  get living() {
    return [...this.members.values()].filter(({ isDead }) => !isDead)
  }

  /**
   * @param {number} slot
   * @param {number} [generation]
   * @returns {Promise<Member>} when all know each other
   */
  async join(slot, generation = 1) {
    const path = `worker-${slot}-${generation}-${++this.#count}`
    /** @type {Member} */
    const member = {
      ...{ slot, generation, pid: this.#count, path },
      ...{ known: new Map(), isLeaving: false, isDead: false, isSilent: false },
      holders: new Holders(path, this.#neighboursOf(path), { settleMs: this.#settleMs })
    }
    const others = this.living
    this.members.set(path, member)
    await Promise.all(
      others.map(async (other) => {
        other.known.set(path, { member, isLeaving: false })
        member.known.set(other.path, { member: other, isLeaving: other.isLeaving })
        const held = await this.#send(member, other, () => other.holders.tell(path))
        if (held !== null) member.holders.noteHeld(other.path, held.answer)
      })
    )
    return member
  }

  /** @param {Member} member - that takes no more sessions */
  async leave(member) {
    member.isLeaving = true
    await this.#tellAll(member, (seen) => {
      seen.isLeaving = true
    })
  }

  /** @param {Member} member - that is killed */
  async kill(member) {
    member.isDead = true
    await this.#tellAll(member, (_, other) => {
      other.known.delete(member.path)
    })
  }

  /**
   * @param {Member} gone
   * @param {(seen: { isLeaving: boolean }, other: Member) => void} change
   */
  async #tellAll(gone, change) {
    await Promise.all(
      this.living.map(async (other) => {
        await this.#send(gone, other, () => {
          const seen = other.known.get(gone.path)
          if (seen === undefined) return
          change(seen, other)
          other.holders.announce()
        })
      })
    )
  }

  /** Waits until nothing is on its way. */
  async quiet() {
    for (let before = null; before !== this.#wires.size;) {
      before = this.#wires.size
      for (let n = 0; n < 20; n++) await Promise.all(this.#wires.values())
    }
  }

  /**
   * @param {string} path
   * @returns {import('../../src/cluster/holders.js').Neighbours}
   */
  #neighboursOf(path) {
    const self = () => /** @type {Member} */ (this.members.get(path))
    /**
     * One link for each of the others, which gathers the messages of one moment.
     *
     * @type {Map<string, import('../../src/cluster/holders.js').OtherWorker>}
     */
    const links = new Map()
    const makeLink = (/** @type {Member} */ other) => ({
      path: other.path,
      link: {
        get isClosed() {
          return !self().known.has(other.path)
        },
        ask: async (/** @type {any} */ question) => {
          const given = await this.#send(self(), other, () =>
            other.isSilent ? null : answer(other, question)
          )
          // A worker that waits for an answer on a link hears of the link's end.
          if (other.isDead && self().known.delete(other.path)) self().holders.announce()
          return given
        },
        tell: (/** @type {any} */ notice) => {
          this.#send(self(), other, () => answer(other, notice))
        }
      }
    })
    const linkTo = (/** @type {Member} */ other) => {
      const known = links.get(other.path)
      const link = known ?? makeLink(other)
      if (known === undefined) links.set(other.path, link)
      return link
    }
    return {
      registrarOf: (accountId) => {
        const candidates = [...self().known.values()]
          .filter(({ isLeaving }) => !isLeaving)
          .map(({ member }) => member)
        const registrar = registrarAmong(
          accountId,
          self().isLeaving ? candidates : [...candidates, self()]
        )
        return registrar === null || registrar.path === path ? null : linkTo(registrar)
      },
      isTaking: (other) =>
        other === path ? !self().isLeaving : self().known.get(other)?.isLeaving === false,
      get all() {
        return [...self().known.values()].map(({ member }) => linkTo(member))
      }
    }
  }

  /**
   * @template T
   * @param {Member} from
   * @param {Member} to
   * @param {() => T | Promise<T>} work - when it has arrived
   * @returns {Promise<{ answer: T } | null>} null where the other is dead, or says nothing
   */
  async #send(from, to, work) {
    const wire = `${from.path} ${to.path}`
    const before = this.#wires.get(wire)
    /** @type {T | Promise<T> | undefined} */
    let given
    const arrival = (async () => {
      await before
      for (let turns = this.#delay(); turns > 0; turns--) await new Promise(setImmediate)
      if (!to.isDead) given = work()
    })()
    this.#wires.set(wire, arrival)
    await arrival
    const answer = await given
    for (let turns = this.#delay(); turns > 0; turns--) await new Promise(setImmediate)
    return to.isDead || to.isSilent ? null : { answer: /** @type {T} */ (answer) }
  }
}

/**
 * As ClusterWorker answers.
 *
 * @param {Member} member
 * @param {any} question
 * @returns {unknown}
 */
function answer({ holders }, question) {
  switch (question.op) {
    case 'claim':
      return holders.claim(question)
    case 'holds':
      return holders.holds(question.accountId)
    case 'holding':
      return holders.noteHeld(question.path, question.accountIds)
    case 'released':
      return holders.noteReleased(question.path, question.accountId)
    default:
      throw new Error(`unknown question ${question.op}`)
  }
}
