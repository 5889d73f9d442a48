/**
 * What the doctor says about one thing.
 */

/**
 * @typedef {object} Finding
 * @property {string} name
 * @property {'ok' | 'warn' | 'fail'} status
 * @property {string} text - what it is
 * @property {string} [advice] - what to do about it
 */

/**
 * @param {string} name
 * @param {string} text
 * @returns {Finding}
 */
export const good = (name, text) => ({ name, status: 'ok', text })

/**
 * @param {string} name
 * @param {string} text
 * @param {string} advice
 * @returns {Finding}
 */
export const doubtful = (name, text, advice) => ({ name, status: 'warn', text, advice })

/**
 * @param {string} name
 * @param {string} text
 * @param {string} advice
 * @returns {Finding}
 */
export const bad = (name, text, advice) => ({ name, status: 'fail', text, advice })
