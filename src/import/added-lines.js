/**
 * The lines that our own export puts before each message of an mbox, for the flags that other formats have elsewhere:
 *
 *     X-Letterlock-Added: 3
 *     Status: RO
 *     X-Status: F
 *     X-Keywords: Work
 *
 * The first line says how many follow, with `unended` behind it when the message's last line had no end and one was added.
 * Other programs read the flags and pass over the rest; our import takes all these lines off again.
 */

const NAME = 'X-Letterlock-Added'
const FIRST = /^X-Letterlock-Added: ([0-3])( unended)?\r?\n/
const LETTERS = /** @type {const} */ ([
  ['\\Answered', 'A'],
  ['\\Flagged', 'F'],
  ['\\Deleted', 'D'],
  ['\\Draft', 'T']
])

/**
 * @param {{ flags: ReadonlyArray<string>, isUnended: boolean }} message
 * @returns {Buffer}
 */
export function addedLines({ flags, isUnended }) {
  const status = flags.includes('\\Seen') ? 'RO' : 'O'
  const letters = LETTERS.filter(([flag]) => flags.includes(flag)).map(([, letter]) => letter)
  const keywords = flags.filter((flag) => !flag.startsWith('\\'))
  const lines = [
    `Status: ${status}`,
    ...(letters.length > 0 ? [`X-Status: ${letters.join('')}`] : []),
    ...(keywords.length > 0 ? [`X-Keywords: ${keywords.join(' ')}`] : [])
  ]
  const first = `${NAME}: ${lines.length}${isUnended ? ' unended' : ''}`
  return Buffer.from(`${[first, ...lines].join('\n')}\n`, 'latin1')
}

/**
 * @param {Buffer} head - the first bytes of a message
 * @returns {{ bytes: Buffer, isUnended: boolean } | null} the added lines; null where there are none
 */
export function findAddedLines(head) {
  const text = head.toString('latin1', 0, 8192)
  const first = FIRST.exec(text)
  if (!first) return null
  let end = first[0].length
  for (let left = Number(first[1]); left > 0; left--) {
    const line = /^(?:Status|X-Status|X-Keywords):[^\n]*\n/.exec(text.slice(end))
    if (!line) return null
    end += line[0].length
  }
  return { bytes: head.subarray(0, end), isUnended: first[2] !== undefined }
}

/**
 * @param {AsyncIterable<Buffer>} chunks
 * @param {number} skip - bytes at the beginning
 * @param {boolean} isUnended - whether the line end behind the last byte is an added one
 * @returns {AsyncGenerator<Buffer>} the message
 */
export async function* withoutAdded(chunks, skip, isUnended) {
  let left = skip
  let held = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const dropped = Math.min(left, chunk.length)
    left -= dropped
    const bytes = chunk.subarray(dropped)
    if (bytes.length === 0) continue
    if (!isUnended) {
      yield bytes
      continue
    }
    if (held.length > 0) yield held
    if (bytes.length > 1) yield bytes.subarray(0, -1)
    held = Buffer.from(bytes.subarray(-1))
  }
}
