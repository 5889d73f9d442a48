/**
 * A mail of 25 MB in a mailbox of its own, and a client that reads it, 64 KiB at a time or at once.
 */
import { createHash } from 'node:crypto'
import { literalsOf } from '../lib/imap-client.js'
import { requireEqual } from '../lib/question.js'
import { Random } from '../lib/random.js'
import { openSession, remake } from './session.js'

export const LARGE = 'large'
const PIECE_BYTES = 64 * 1024
const HEADER =
  'From: Large Mail <large@example.org>\r\nSubject: large\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n'

/** @typedef {{ size: number, hash: string }} LargeMail - bytes, and their SHA-256 */

/** @param {import('./session.js').RunOptions} options */
function largeMail({ isQuick, seed }) {
  const bytes = new Random(seed).bytes((isQuick ? 1 : 18) * 1_000_000)
  return Buffer.from(HEADER + bytes.toString('base64').replace(/(.{76})/g, '$1\r\n'))
}

/** @param {Buffer | Buffer[]} bytes */
function hashOf(bytes) {
  const hash = createHash('sha256')
  for (const piece of [bytes].flat()) hash.update(piece)
  return hash.digest('hex')
}

/**
 * @param {import('./session.js').Run} run
 * @returns {Promise<LargeMail>} the only message of the mailbox now
 */
export async function putLargeMail(run) {
  const client = await openSession(run, { mailbox: null })
  const mail = largeMail(run.options)
  await remake(client, LARGE)
  await client.run([`APPEND ${LARGE} {${mail.length}+}\r\n`, mail])
  client.close()
  return { size: mail.length, hash: hashOf(mail) }
}

/**
 * @param {import('../lib/imap-client.js').ImapClient} client - that has selected the mailbox
 * @param {LargeMail} mail
 * @returns {Promise<number[]>} the time of each piece, ms
 */
export async function readInPieces(client, { size, hash }) {
  const samples = []
  const pieces = []
  for (let offset = 0; offset < size; offset += PIECE_BYTES) {
    const { bytes, ms } = await client.run(`FETCH 1 (UID BODY.PEEK[]<${offset}.${PIECE_BYTES}>)`)
    samples.push(ms)
    pieces.push(...literalsOf(bytes))
  }
  requireEqual(hashOf(pieces), hash, 'SHA-256 of the pieces')
  return samples
}

/**
 * @param {import('../lib/imap-client.js').ImapClient} client - that has selected the mailbox
 * @param {LargeMail} mail
 * @returns {Promise<number>} the time of all of it in one command, ms
 */
export async function readAtOnce(client, { hash }) {
  const { bytes, ms } = await client.run('FETCH 1 (UID BODY.PEEK[])')
  requireEqual(hashOf(literalsOf(bytes)), hash, 'SHA-256 of the message')
  return ms
}
