/** OK, NO, BAD, BYE, continuations: RFC 9051 §7.1, §7.5 and §9. */

/** @typedef {import('./response-code.js').ResponseCode} ResponseCode */

/** Characters that `resp-text`, which is printable ASCII, cannot hold: they could break the line. */
const NOT_TEXT = /[^\x20-\x7e]+/g

/**
 * @param {string} tag
 * @param {'OK' | 'NO' | 'BAD'} status
 * @param {ResponseCode | null} code
 * @param {string} text - a sentence for the user
 * @returns {Buffer} the whole line
 */
export function tagged(tag, status, code, text) {
  return line(`${tag} ${status}`, code, text)
}

/**
 * @param {'OK' | 'NO' | 'BAD' | 'BYE'} status
 * @param {ResponseCode | null} code
 * @param {string} text - a sentence for the user
 * @returns {Buffer} the whole line
 */
export function untagged(status, code, text) {
  return line(`* ${status}`, code, text)
}

/**
 * @param {string} [text] - base64 of a challenge, or a sentence
 * @returns {Buffer} `+ …`
 */
export function continuation(text = '') {
  return Buffer.from(`+ ${cleanText(text)}\r\n`, 'latin1')
}

/**
 * @param {string} start
 * @param {ResponseCode | null} code
 * @param {string} text
 */
function line(start, code, text) {
  const codeText = code === null ? '' : `[${code}] `
  return Buffer.from(`${start} ${codeText}${cleanText(text)}\r\n`, 'latin1')
}

/** @param {string} text */
const cleanText = (text) => text.replace(NOT_TEXT, ' ')
