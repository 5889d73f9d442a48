/**
 * Checks answers by the generator alone: a fast wrong answer must fail, even if it has as many lines and hits as the right
 * one.
 */
import { literalsOf } from '../lib/imap-client.js'
import { require, requireEqual } from '../lib/question.js'

/**
 * @typedef {import('../lib/mail.js').Mail} Mail
 * @typedef {import('../lib/mail.js').MailGenerator} MailGenerator
 */

/** Of an answer about all messages, so many are compared with what was put in. */
const SAMPLE = 50

/**
 * @param {readonly number[]} actual
 * @param {readonly number[]} expected
 * @param {string} what
 */
export function requireSame(actual, expected, what) {
  requireEqual(actual.length, expected.length, `number of ${what}`)
  const at = actual.findIndex((value, index) => value !== expected[index])
  require(at === -1, `${what}: expected ${expected[at]}, got ${actual[at]}`)
}

/**
 * @param {Buffer} bytes - an answer to SEARCH
 * @returns {number[]} the numbers in the answer's order
 */
export function foundIn(bytes) {
  const found = /\* SEARCH([^\r]*)/.exec(bytes.toString('latin1'))?.[1] ?? ''
  return (found.match(/\d+/g) ?? []).map(Number)
}

/**
 * @param {number} messages - of the large mailbox
 * @param {(index: number) => boolean} test
 * @returns {number[]} UIDs of those that pass: each is one more than the message's index
 */
export const uidsWhere = (messages, test) =>
  Array.from({ length: messages }, (_, index) => index).flatMap((index) =>
    test(index) ? [index + 1] : []
  )

/**
 * @param {import('../lib/random.js').Random} random
 * @param {number} messages
 * @returns {number[]} message numbers to compare, from 1
 */
export const someOf = (random, messages) =>
  Array.from({ length: Math.min(SAMPLE, messages) }, () => 1 + random.below(messages))

/**
 * @param {Buffer} bytes - an answer to FETCH, in the order of the mailbox
 * @param {number} number - of a message
 * @returns {string} the FETCH response about this message
 */
function responseTo(bytes, number) {
  const start = bytes.indexOf(`* ${number} FETCH (`)
  require(start >= 0, `an answer about message ${number}`)
  const end = bytes.indexOf(`\r\n* ${number + 1} FETCH (`, start)
  return bytes.toString('latin1', start, end < 0 ? bytes.length : end)
}

/**
 * Compares some responses of an answer to FETCH with what was put in.
 *
 * @param {Buffer} bytes
 * @param {readonly number[]} numbers
 * @param {(number: number) => Mail} mailOf
 * @param {(response: string, mail: Mail) => boolean} isRight
 * @param {string} what
 */
export function requireRight(bytes, numbers, mailOf, isRight, what) {
  for (const number of numbers)
    require(isRight(responseTo(bytes, number), mailOf(number)), `${what} of message ${number}`)
}

/** @param {Mail} mail */
const textOf = ({ bytes }) => bytes.toString('latin1')

/**
 * @param {Mail} mail
 * @returns {{ name: string, raw: string, value: string }[]} fields of its header; `raw`: with line ends
 */
function fieldsOf(mail) {
  const [header = ''] = textOf(mail).split('\r\n\r\n', 1)
  return [...`${header}\r\n`.matchAll(/([\w-]+): ((?:[^\r]|\r\n[ \t])*)\r\n/g)].map(
    ([raw, name = '', value = '']) => ({ name, raw, value: value.replace(/\r\n[ \t]/g, ' ') })
  )
}

/**
 * @param {Mail} mail
 * @param {string} name
 * @returns {string | null}
 */
export const fieldOf = (mail, name) =>
  fieldsOf(mail).find((field) => field.name === name)?.value ?? null

/** @param {string | null} value */
const quoted = (value) => (value === null ? 'NIL' : `"${value}"`)

/**
 * @param {string | null} value - `Name <user@host>`, several with commas
 * @returns {string}
 */
function addresses(value) {
  if (value === null) return 'NIL'
  const list = [...value.matchAll(/([^<,]+) <([^@]+)@([^>]+)>/g)]
  return `(${list.map(([, name = '', user, host]) => `("${name.trim()}" NIL "${user}" "${host}")`).join('')})`
}

/**
 * @param {string} response
 * @param {Mail} mail
 */
export function hasEnvelope(response, mail) {
  const field = (/** @type {string} */ name) => fieldOf(mail, name)
  const from = addresses(field('From'))
  const parts = [
    ...[quoted(field('Date')), quoted(field('Subject')), from, from, from],
    ...[addresses(field('To')), addresses(field('Cc')), 'NIL'],
    ...[quoted(field('In-Reply-To')), quoted(field('Message-ID'))]
  ]
  return response.includes(`ENVELOPE (${parts.join(' ')})`)
}

/**
 * @param {ReadonlyArray<string> | null} names - of header fields, in any case; null: all
 * @returns {(response: string, mail: Mail) => boolean}
 */
export const hasFields = (names) => (response, mail) => {
  const wanted = names && new Set(names.map((name) => name.toLowerCase()))
  const lines = fieldsOf(mail).filter(({ name }) => wanted?.has(name.toLowerCase()) ?? true)
  const block = `${lines.map(({ raw }) => raw).join('')}\r\n`
  return response.includes(`{${block.length}}\r\n${block}`) && hasSize(response, mail)
}

/**
 * @param {string} response
 * @param {Mail} mail
 */
export const hasSize = (response, { bytes }) => response.includes(`RFC822.SIZE ${bytes.length} `)

/**
 * @param {string} response
 * @param {Mail} mail
 */
export const hasFlags = (response, { flags }) =>
  ['\\Seen', '\\Flagged'].every((flag) => response.includes(flag) === flags.includes(flag))

/**
 * @param {string} response
 * @param {Mail} mail
 */
export function hasStructure(response, mail) {
  const told = /\("(\w+)" "([\w-]+)" (?:NIL|\([^)]*\)) NIL NIL "([\w-]+)" (\d+)/g
  const actual = [...response.matchAll(told)].map((leaf) => leaf.slice(1).join(' ').toLowerCase())
  return actual.join() === leavesOf(textOf(mail)).join()
}

/**
 * @param {string} text - a message
 * @returns {string[]} of each part that has no others in it: type, subtype, encoding and octets
 */
function leavesOf(text) {
  const heads =
    /Content-Type: (\w+)\/([\w-]+);[^\r]*\r\n(?:Content-Disposition: [^\r]*\r\n)?Content-Transfer-Encoding: (\S+)\r\n\r\n/g
  return [...text.matchAll(heads)].map(({ index, 0: head, 1: type, 2: subtype, 3: encoding }) => {
    const start = index + head.length
    const end = text.indexOf('\r\n--=_', start)
    return `${type} ${subtype} ${encoding} ${(end < 0 ? text.length : end) - start}`
  })
}

/**
 * Some messages of a sorted list, in its order.
 *
 * @param {readonly number[]} uids
 * @param {import('../lib/random.js').Random} random
 * @returns {number[]}
 */
export const someInOrder = (uids, random) =>
  [...new Set(someOf(random, uids.length))]
    .sort((one, other) => one - other)
    .map((number) => uids[number - 1] ?? 0)

/**
 * @param {Buffer} bytes - an answer to UID THREAD
 * @returns {Map<number, number>} number of its thread by UID
 */
export function threadsOf(bytes) {
  const answer = /\* THREAD ([^\r]*)/.exec(bytes.toString('latin1'))?.[1] ?? ''
  /** @type {Map<number, number>} */
  const threads = new Map()
  let [depth, thread] = [0, 0]
  for (const [token] of answer.matchAll(/[()]|\d+/g)) {
    if (token === '(') thread += depth++ === 0 ? 1 : 0
    else if (token === ')') depth--
    else threads.set(Number(token), thread)
  }
  return threads
}

/**
 * @param {Buffer} bytes - an answer to FETCH of one message
 * @param {Mail | undefined} mail
 * @param {string} what
 */
export function requireBody(bytes, mail, what) {
  const [body] = literalsOf(bytes)
  require(body && mail && body.equals(mail.bytes), `${what}, byte for byte`)
}
