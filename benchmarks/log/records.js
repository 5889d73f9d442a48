/**
 * Records of 250 to 300 bytes, JSON-like and similar to each other, as a log of messages has them.
 */
import { Random, seedFor } from '../lib/random.js'

const LEVELS = ['info', 'info', 'info', 'debug', 'warn']
const SERVICES = ['imap', 'lmtp', 'store', 'spool', 'admin']
const WORDS =
  'message stored delivered opened closed folder user session mailbox queue retry accepted waiting synced page block read write index cache found moved copied expunged flagged'.split(
    ' '
  )

const LEAST_BYTES = 250
const MOST_BYTES = 300
const START_MS = Date.UTC(2026, 0, 5)

/**
 * @param {number} seed
 * @param {number} index - from 0
 * @returns {Buffer}
 */
export function recordOf(seed, index) {
  const random = new Random(seedFor(seed, index))
  const head = JSON.stringify({
    id: index,
    time: new Date(START_MS + index * 137).toISOString(),
    level: random.pick(LEVELS),
    service: random.pick(SERVICES),
    session: random.next().toString(16).padStart(8, '0'),
    bytes: random.below(100_000),
    ms: random.below(1000) / 10
  }).slice(0, -1)
  const target = LEAST_BYTES + random.below(MOST_BYTES - LEAST_BYTES + 1)
  let text = ''
  while (head.length + text.length + 11 < target) text += `${random.pick(WORDS)} `
  return Buffer.from(`${head},"text":"${text.slice(0, target - head.length - 11)}"}`)
}
