/**
 * Pieces of dialogues that many transcripts need (see transcript.js for their language).
 */

/** A small message: a header line, a blank line, a body line. */
export const SMALL_MESSAGE = 'Subject: x\r\n\r\nbody\r\n'

/**
 * @param {string} mailbox
 * @param {{ flags?: string, message?: string, connection?: number, date?: string }} [options]
 * @returns {string} an APPEND that succeeds, on a mailbox that is not selected there
 */
export function append(
  mailbox,
  { flags = '', message = SMALL_MESSAGE, connection = 1, date = '' } = {}
) {
  const words = [
    'APPEND',
    mailbox,
    ...(flags === '' ? [] : [`(${flags})`]),
    ...(date === '' ? [] : [date])
  ]
  const lines = message.split('\r\n').map((line) => `${connection}C: ${line}`)
  return [
    `${connection}C: ap ${words.join(' ')} {${Buffer.byteLength(message)}+}`,
    ...lines,
    `${connection}S: ap OK [APPENDUID ...`
  ].join('\n')
}

/**
 * @param {string} mailbox
 * @param {{ connection?: number, exists?: number | string, unseen?: boolean, how?: 'SELECT' | 'EXAMINE',
 *   parameters?: string, isAnother?: boolean, isRev2?: boolean }} [options] - `isAnother`: a mailbox is selected already;
 *   `isRev2`: ENABLE IMAP4rev2 was given
 * @returns {string} a SELECT of which only the number of messages matters
 */
export function select(
  mailbox,
  {
    connection: c = 1,
    exists = '...',
    unseen = exists !== 0,
    how = 'SELECT',
    parameters = '',
    isAnother = false,
    isRev2 = false
  } = {}
) {
  return [
    `${c}C: se ${how} ${mailbox}${parameters}`,
    ...(isAnother ? [`${c}S: * OK [CLOSED] ...`] : []),
    `${c}S: * FLAGS (...`,
    `${c}S: * OK [PERMANENTFLAGS ...`,
    `${c}S: * ${exists} EXISTS`,
    ...(isRev2 ? [] : [`${c}S: * ... RECENT`]),
    ...(unseen && !isRev2 ? [`${c}S: * OK [UNSEEN ...`] : []),
    `${c}S: * OK [UIDVALIDITY ...`,
    `${c}S: * OK [UIDNEXT ...`,
    `${c}S: * OK [HIGHESTMODSEQ ...`,
    `${c}S: * OK [MAILBOXID ...`,
    ...(isRev2 ? [`${c}S: * LIST (...`] : []),
    `${c}S: se OK ...`
  ].join('\n')
}

/**
 * @param {number} [connection]
 * @returns {string} ENABLE IMAP4rev2
 */
export function enableRev2(connection = 1) {
  return [
    `${connection}C: en ENABLE IMAP4rev2`,
    `${connection}S: * ENABLED IMAP4rev2`,
    `${connection}S: en OK ...`
  ].join('\n')
}
