/**
 * Names of mailboxes as names of files and folders: the same on every system, never outside the chosen folder, no two
 * alike, also where upper and lower case are one.
 */

/** Characters that some system cannot have in a name of a file, and control characters. */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const IMPOSSIBLE_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\\/:*?"<>|]/g

/** Names of devices on Windows, with or without an ending. */
const DEVICE_NAMES = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/** Endings of files that are written beside the folders, and one that an import takes off the name of a folder. */
const TAKEN_ENDINGS = /\.(eml|mbox|sbd)$/i

/** A level has at most so many bytes: file systems end at 255, and an ending or a number may follow. */
const MAX_LEVEL_BYTES = 150

/** Gives each mailbox a place, level by level. */
export class FileNames {
  #toLevel
  /** @type {Map<string, string[]>} */
  #places = new Map()
  /** @type {Set<string>} */
  #taken = new Set()

  /**
   * @param {(level: string) => string} [toLevel] - writes a level as the format wants it, before it is made safe
   */
  constructor(toLevel = (level) => level) {
    this.#toLevel = toLevel
  }

  /**
   * @param {string} mailbox - full name, levels divided by '/'
   * @returns {string[]} safe names of the mailbox's levels; the same for the same mailbox
   */
  placeOf(mailbox) {
    const known = this.#places.get(mailbox)
    if (known) return known
    const at = mailbox.lastIndexOf('/')
    const above = at === -1 ? [] : this.placeOf(mailbox.slice(0, at))
    const level = this.#safeLevel(mailbox.slice(at + 1))
    let place = [...above, level]
    for (let number = 2; this.#taken.has(keyOf(place)); number++) {
      place = [...above, `${level} ${number}`]
    }
    this.#taken.add(keyOf(place))
    this.#places.set(mailbox, place)
    return place
  }

  /**
   * @param {string} level
   * @returns {string} as much of the level as there is room for, cut before it is encoded: a piece of a code would be none
   */
  #safeLevel(level) {
    const letters = [...level.toWellFormed()]
    for (;;) {
      const safe = safeLevel(this.#toLevel(letters.join('')))
      if (Buffer.byteLength(safe) <= MAX_LEVEL_BYTES) return safe
      letters.pop()
    }
  }
}

/**
 * @param {readonly string[]} place
 * @returns {string}
 */
const keyOf = (place) => place.join('/').normalize('NFC').toLowerCase()

/**
 * @param {string} level
 * @returns {string}
 */
function safeLevel(level) {
  const safe = level
    .replace(IMPOSSIBLE_CHARACTERS, '_')
    .replace(/^\./, '_')
    .replace(/[. ]+$/, '_')
  if (DEVICE_NAMES.test(safe)) return `_${safe}`
  // So that no folder gets the name of a file beside it, or another name when an import reads it back.
  return TAKEN_ENDINGS.test(safe) ? `${safe}_` : safe || '_'
}
