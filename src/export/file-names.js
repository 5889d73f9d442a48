/**
 * Names of mailboxes as names of files and folders: the same on every system, never outside the chosen folder, no two
 * alike, also where upper and lower case are one.
 */

/** What some system cannot have in a name; control characters. */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const IMPOSSIBLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\\/:*?"<>|]/g

/** Names of devices on Windows, with or without an ending. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/** Endings of files that are written beside the folders, and one that an import takes off the name of a folder. */
const ENDINGS = /\.(eml|mbox|sbd)$/i

/** Bytes of one level: file systems end at 255, and an ending or a number may follow. */
const MAX_LEVEL_BYTES = 150

/** Gives each mailbox a place, level by level. */
export class FileNames {
  #toLevel
  /** @type {Map<string, string[]>} */
  #places = new Map()
  /** @type {Set<string>} */
  #taken = new Set()

  /**
   * @param {(level: string) => string} [toLevel] - makes a level what the format needs, before anything else
   */
  constructor(toLevel = (level) => level) {
    this.#toLevel = toLevel
  }

  /**
   * @param {string} mailbox - full name, levels divided by '/'
   * @returns {string[]} safe names of its levels; the same for the same name
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
   * @returns {string} as much of it as there is room for, cut before it is encoded: a piece of a code would be none
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
    .replace(IMPOSSIBLE, '_')
    .replace(/^\./, '_')
    .replace(/[. ]+$/, '_')
  if (DEVICES.test(safe)) return `_${safe}`
  // No folder has the name of a file that lies beside it, or another name when it is read back.
  return ENDINGS.test(safe) ? `${safe}_` : safe || '_'
}
