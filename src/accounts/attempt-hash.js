/**
 * A keyed hash that attempts with the same name and password have in common, to know them again without keeping either.
 */
import { createHmac } from 'node:crypto'

/**
 * @param {Uint8Array} key - random, of this process
 * @param {string} name
 * @param {Uint8Array} password
 * @returns {string}
 */
export const attemptHash = (key, name, password) =>
  createHmac('sha256', key).update(`${name}\0`).update(password).digest('base64')
