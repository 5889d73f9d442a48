/**
 * Texts that others have chosen, for a terminal: names of files, what other servers say, labels of users. They may hold
 * control sequences, or line breaks that make a line of their own.
 */

const CONTROL = /\p{Cc}/gu

/**
 * @param {string} text
 * @returns {string} one line, without control characters
 */
export const plainText = (text) => text.replace(CONTROL, '?')

/**
 * @param {string} text
 * @returns {string} without control characters except line feeds
 */
export const plainLines = (text) => text.split('\n').map(plainText).join('\n')

/**
 * @param {unknown} value
 * @returns {string} JSON in one line; C1 and DEL are escaped as well, which JSON leaves as they are
 */
export const plainJson = (value) =>
  JSON.stringify(value).replace(
    CONTROL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
