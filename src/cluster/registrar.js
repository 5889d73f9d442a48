/**
 * Which worker is the registrar of an account, the one that is asked who has it open: rendezvous hashing over the slots that
 * have a worker. When a slot goes, only its own accounts move; when it comes back, it gets back just these.
 *
 * Nothing depends on all workers agreeing: two that hold one mailbox for a moment are kept apart by SQLite.
 */

/**
 * @typedef {object} Candidate - a worker process
 * @property {number} slot - its place among the workers; a reloaded one keeps it
 * @property {number} generation - grows with each process in that slot
 * @property {number} pid
 */

const FNV_PRIME = 0x01000193
const FNV_OFFSET = 0x811c9dc5

/**
 * @param {string} accountId - ASCII
 * @returns {number} 32 bits
 */
function hashOf(accountId) {
  let hash = FNV_OFFSET
  for (let at = 0; at < accountId.length; at++) {
    hash = Math.imul(hash ^ accountId.charCodeAt(at), FNV_PRIME)
  }
  return hash
}

/**
 * @param {number} hash - of an account
 * @param {number} slot
 * @returns {number} 32 bits
 */
function weightOf(hash, slot) {
  // With FNV alone, ids that end alike would have the same registrar: murmur's finish mixes the slot into every bit.
  let weight = Math.imul(hash ^ Math.imul(slot + 1, 0x9e3779b1), 0x85ebca6b)
  weight = Math.imul(weight ^ (weight >>> 13), 0xc2b2ae35)
  return (weight ^ (weight >>> 16)) >>> 0
}

/**
 * @param {Candidate} left
 * @param {Candidate} right
 * @returns {boolean} whether `left` is the newer process of the two
 */
const isNewer = (left, right) =>
  left.generation === right.generation ? left.pid > right.pid : left.generation > right.generation

/**
 * @template {Candidate} T
 * @param {string} accountId
 * @param {Iterable<T>} candidates - that take sessions
 * @returns {T | null} the newest process of the account's slot; null where there is no candidate
 */
export function registrarAmong(accountId, candidates) {
  /** @type {T | null} */
  let registrar = null
  let heaviest = -1
  const hash = hashOf(accountId)
  for (const candidate of candidates) {
    const isOfSameSlot = registrar?.slot === candidate.slot
    const weight = isOfSameSlot ? heaviest : weightOf(hash, candidate.slot)
    const isBetter =
      registrar === null ||
      (isOfSameSlot
        ? isNewer(candidate, registrar)
        : weight > heaviest || (weight === heaviest && candidate.slot > registrar.slot))
    if (!isBetter) continue
    registrar = candidate
    heaviest = weight
  }
  return registrar
}
