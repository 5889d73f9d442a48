/**
 * The states in which commands are valid (RFC 3501 §3), by the groups that the commands name.
 */

/** @import { SessionState } from './session.js' */

/** @type {readonly SessionState[]} */
export const ANY_STATE = Object.freeze(['notAuthenticated', 'authenticated', 'selected'])
/** @type {readonly SessionState[]} */
export const NOT_AUTHENTICATED = Object.freeze(['notAuthenticated'])
/** @type {readonly SessionState[]} */
export const AUTHENTICATED = Object.freeze(['authenticated', 'selected'])
/** @type {readonly SessionState[]} */
export const SELECTED = Object.freeze(['selected'])
