/**
 * What a registrar knows: which workers have an account open, in the order in which it heard of them. But for moments there is
 * only one. New sessions go to the first; the next takes its place once it closes the mailbox or is gone.
 *
 * An account takes some 300 bytes for as long as it is open: the id, the path, an array of one and an entry of the map here, and
 * another entry at its holder.
 */

/** Accounts and who has them open. */
export class Register {
  /** @type {Map<string, string[]>} paths of workers' sockets by account */
  #holders = new Map()

  /** @returns {number} accounts that somebody has open */
  get size() {
    return this.#holders.size
  }

  /**
   * @param {string} accountId
   * @param {(path: string) => boolean} isTaking - whether that worker is there and takes sessions
   * @returns {string | null} the worker that new sessions go to; null where nobody has it open
   */
  find(accountId, isTaking) {
    return this.#holders.get(accountId)?.find((path) => isTaking(path)) ?? null
  }

  /**
   * Adds a worker behind those already known: sessions have been sent to the first of these.
   *
   * @param {string} accountId
   * @param {string} path - of the worker that has it open
   */
  note(accountId, path) {
    const holders = this.#holders.get(accountId)
    if (holders === undefined) this.#holders.set(accountId, [path])
    else if (!holders.includes(path)) holders.push(path)
  }

  /**
   * @param {string} accountId
   * @param {string} path - of the worker that has closed it; any other stays
   */
  drop(accountId, path) {
    this.#keep(accountId, (other) => other !== path)
  }

  /**
   * @param {(accountId: string) => boolean} isOurs - whether it is still this registrar's account
   * @param {(path: string) => boolean} isTaking - whether that worker is still there and takes sessions
   */
  prune(isOurs, isTaking) {
    for (const accountId of this.#holders.keys()) {
      if (isOurs(accountId)) this.#keep(accountId, isTaking)
      else this.#holders.delete(accountId)
    }
  }

  /**
   * @param {string} accountId
   * @param {(path: string) => boolean} isKept
   */
  #keep(accountId, isKept) {
    const holders = this.#holders.get(accountId)
    if (holders === undefined || holders.every(isKept)) return
    const left = holders.filter(isKept)
    if (left.length === 0) this.#holders.delete(accountId)
    else this.#holders.set(accountId, left)
  }
}
