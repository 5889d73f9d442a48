/**
 * What may be said of a session to its account's owner and to an operator, and of all of them to an operator.
 */

/** @import { Connection } from './connection.js' */
/** @import { Login } from './server-context.js' */

/**
 * @typedef {object} SessionFacts
 * @property {string} id
 * @property {string} accountId
 * @property {string} address - the account's
 * @property {string} remoteAddress
 * @property {number} startedAtMs
 * @property {'read-write' | 'read-only'} scope
 * @property {string | null} credentialId - that it has logged in with; null where there is no directory
 * @property {string | null} clientName - as the client says (RFC 2971); null where it says none
 * @property {boolean} isTls
 * @property {boolean} isCompressed
 * @property {boolean} isIdling
 *
 * @typedef {object} SessionCounts
 * @property {number} connections - of clients
 * @property {number} loggedIn - sessions of this process
 * @property {number} idling - those in IDLE
 * @property {number} background - those that are logged in and fill their client's store in the background
 */

/**
 * @param {Login} login
 * @param {Connection} connection
 * @param {Pick<SessionFacts, 'startedAtMs' | 'clientName' | 'isIdling'>} rest
 * @returns {SessionFacts}
 */
export function sessionFacts({ account, scope, credentialId }, connection, rest) {
  const { id, remoteAddress, isTls, isCompressed } = connection
  return {
    id,
    accountId: account.id,
    address: account.address,
    remoteAddress,
    scope,
    credentialId: credentialId ?? null,
    isTls,
    isCompressed,
    ...rest
  }
}
