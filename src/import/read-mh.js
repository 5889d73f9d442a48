/**
 * Folders of MH, as nmh, Claws Mail, Sylpheed, mutt and Gnus (nnml) keep them: a file for each message, called by its number, in
 * a folder for each mailbox, which may lie in another. `.mh_sequences` beside the messages lists those that are unseen, replied
 * to or flagged; where it is missing, nothing is known of them.
 */
import { SequenceSet } from '../imap/protocol/values/sequence-set.js'
import { firstFieldAt } from '../mime/header.js'
import { countBelow } from '../support/count-below.js'
import { openBytes, readHead } from './byte-source.js'
import { HEADER_FIELD } from './line-ends.js'
import { MboxSplitter } from './mbox-splitter.js'
import { emlItem } from './read-eml.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./mbox-splitter.js').MboxPiece} MboxPiece */

/** @typedef {{ unseen: Sequence, replied: Sequence, flagged: Sequence }} Sequences */

/** The place of a message: its name is a number; that of a deleted one has a comma or a # in front. */
const MESSAGE_NAME = /(^|\/)[1-9]\d*$/

/** Files that mail programs keep beside the messages. */
const INDEX = /(^|\/)\.(mh_sequences|xmhcache|overview|marks|(claws|sylpheed)_\w+)$/

/** A line end behind which the next line goes on with this one. */
const FOLD = /\r?\n[ \t]+/g

const SEQUENCES = Buffer.from('.mh_sequences')

/** At most so many bytes of `.mh_sequences` are read: enough to list each second of a million messages. */
const MAX_SEQUENCES_BYTES = 4 * 1024 * 1024

/** The number of a message is at most this. */
const MAX_NUMBER = 2 ** 32 - 1

const SLASH = 0x2f

/**
 * @param {string} place - of a file
 * @returns {boolean} whether it belongs to the messages and is none
 */
export const isMhIndex = (place) => INDEX.test(place)

/**
 * @param {string} place - of a file among others
 * @param {Buffer} bytes - its first ones
 * @returns {boolean} whether it is a message: there are other files that are called by a number
 */
export function isMhHead(place, bytes) {
  if (!MESSAGE_NAME.test(place)) return false
  const text = bytes.toString('latin1', firstFieldAt(bytes))
  const [field = '', next = ''] = text.split(/\r?\n/, 2)
  return HEADER_FIELD.test(field) && (HEADER_FIELD.test(next) || /^([ \t]|$)/.test(next))
}

/**
 * procmail leaves the From_ line in front of the messages that it delivers into MH. But an mbox may have a number as its name as
 * well, for instance a year.
 *
 * @param {{ path: string | Buffer, place: string }} file - an mbox beside messages, or beside an index of MH
 * @returns {Promise<boolean>} whether it is one of the messages: it is called as they are, and nothing else is in it
 * @throws what the file system throws
 */
export async function isMhMessageOfMbox({ path, place }) {
  if (!MESSAGE_NAME.test(place)) return false
  const source = await openBytes(path)
  const splitter = new MboxSplitter({ quoting: 'none' })
  try {
    for await (const chunk of source.chunks)
      if (splitter.push(chunk).some(beginsWithin)) return false
    return !splitter.end().some(beginsWithin)
  } finally {
    source.close()
  }
}

/**
 * @param {MboxPiece} piece
 * @returns {boolean} whether a message begins with it, and not with the file
 */
const beginsWithin = (piece) => piece.kind === 'from' && piece.offset > 0

/** Numbers of messages, written like `1 3-5`. */
class Sequence {
  #ranges
  #firsts

  /** @param {string} numbers */
  constructor(numbers) {
    const ranges = Array.from(numbers.matchAll(/(\d+)(?:-(\d+))?/g), ([, from, to = from]) => ({
      from: Math.min(Number(from), MAX_NUMBER),
      to: Math.min(Number(to), MAX_NUMBER)
    }))
    this.#ranges = new SequenceSet(ranges).resolve(0)
    this.#firsts = Uint32Array.from(this.#ranges, ({ from }) => from)
  }

  /**
   * @param {number} number
   * @returns {boolean} whether it is in it
   */
  has(number) {
    const range = this.#ranges[countBelow(this.#firsts, number + 1) - 1]
    return range !== undefined && number <= range.to
  }
}

/** Reads the messages of one source. */
export class MhReader {
  /**
   * The sequences by folder.
   *
   * @type {Map<string, Promise<Sequences | null>>}
   */
  #sequences = new Map()

  /**
   * @param {{ path: string | Buffer, place: string }} file - a message
   * @returns {Promise<ImportItem>}
   */
  async itemOf({ path, place }) {
    const folder = place.split('/')
    const number = Number(folder.pop())
    const key = folder.join('/')
    const sequences = this.#sequences.get(key) ?? readSequences(path)
    this.#sequences.set(key, sequences)
    const item = await emlItem({ path, place, folder, flags: flagsOf(number, await sequences) })
    // The place tells nothing for long: packing or sorting a folder numbers its messages anew.
    return { ...item, importKeyParts: null }
  }
}

/**
 * @param {number} number - of a message
 * @param {Sequences | null} sequences - of its folder
 * @returns {string[]}
 */
function flagsOf(number, sequences) {
  if (sequences === null) return []
  const flags = sequences.unseen.has(number) ? [] : ['\\Seen']
  if (sequences.replied.has(number)) flags.push('\\Answered')
  if (sequences.flagged.has(number)) flags.push('\\Flagged')
  return flags
}

/**
 * @param {string | Buffer} path - of a message
 * @returns {Promise<Sequences | null>} null where there are none, or none that can be read
 */
async function readSequences(path) {
  const bytes = Buffer.from(path)
  const folder = bytes.subarray(0, bytes.lastIndexOf(SLASH) + 1)
  const file = Buffer.concat([folder, SEQUENCES])
  const head = await readHead(file, MAX_SEQUENCES_BYTES).catch(() => null)
  if (head === null) return null
  const text = head.toString('latin1').replace(FOLD, ' ')
  const sequence = (/** @type {keyof Sequences} */ name) =>
    new Sequence(new RegExp(`^${name}:(.*)`, 'm').exec(text)?.[1] ?? '')
  return {
    unseen: sequence('unseen'),
    replied: sequence('replied'),
    flagged: sequence('flagged')
  }
}
