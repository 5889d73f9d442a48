/**
 * What most mail has in it before anybody has written a word: header fields, HTML, the commonest phrases. zstd finds in it what a
 * short message does not say twice. It is the same for all accounts, so nothing of a message is in it, and nothing in a user's
 * file can damage it.
 *
 * ITS BYTES MAY NEVER CHANGE: mail is stored by it, and without exactly these bytes nobody reads it again. A better one is
 * another dictionary, with a number and codecs of its own (chunk-codec.js), beside this one.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** What is nearest to its end costs the fewest bits to refer to: the commonest comes last. */
const FILES = [
  '1-languages.txt',
  '2-html.txt',
  '3-text.txt',
  '4-parts.txt',
  '5-programs.txt',
  '6-header.txt'
]

/**
 * What stands before the text in a dictionary of zstd (RFC 8878 §5): its number, 1, and how frequent bytes, lengths and
 * distances are in mail that is packed by the text, as `ZDICT_finalizeDictionary` counts them. A frame need not bring these
 * tables along, nor its reader build them, which makes short messages smaller and faster to read.
 */
const TABLES =
  'N6Qw7AEAAAA7EKii1QMwMzMzMzMzMzMzsyp1bTMlMjJ+ZDcjO0esJjHLt+v/v/T//7/27QZZUoQwUurRRv04ZpkHuQ/zABAMDIuHZSKRTCSV1wMEoACW' +
  'nRGcERFNxfFwMBIEOQyjMIqCEDLGEIOMMQgZDQAAAAC0MAa0sTyaZUGQw5BCTBmDDM0UAAAAAQAAAAQAAAAIAAAA'

const SHA256 = '0f7cb5aba0dd84d18a70034ba3e6e8d05c1b1916f05bd70aabea1b34628264fe'

/** @type {Buffer | undefined} */
let dictionary

/**
 * @returns {Buffer} read when it is first asked for
 * @throws {Error} when it is not there, or not what mail was stored by
 */
export function mailDictionary() {
  return (dictionary ??= readMailDictionary(new URL('dictionary/mail-1/', import.meta.url)))
}

/**
 * @param {URL} folder
 * @returns {Buffer}
 */
export function readMailDictionary(folder) {
  const text = FILES.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('')
  // Lines of mail end so.
  const content = Buffer.from(text.replaceAll('\n', '\r\n'))
  const bytes = Buffer.concat([Buffer.from(TABLES, 'base64'), content])
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found !== SHA256)
    throw new Error(
      `The dictionary that mail is stored by (${folder.pathname}) is not the one of this program: its SHA-256 is ${found}, not ${SHA256}. Install the program anew.`
    )
  return bytes
}
