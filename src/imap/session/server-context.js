/**
 * What sessions use of the server that they run in, and what that needs of the rest of the program: settings, a way to log
 * in, a log. Types alone.
 */

/** @import { Socket } from 'node:net' */
/** @import { AccountStore } from '../../store/account-store.js' */
/** @import { Clock } from '../../support/clock.js' */
/** @import { Allowances } from './allowance.js' */
/** @import { BackgroundDownloads } from './background-downloads.js' */
/** @import { TlsContext } from './tls-context.js' */

/**
 * @typedef {object} ImapConfig - the part of the configuration that sessions read
 * @property {{ allowPlaintextLoopback: boolean, loginTimeoutMs: number, inactivityTimeoutMs: number,
 *   idleReminderMs: number, maxConnections: number, maxConnectionsPerAccount: number,
 *   maxConnectionsPerAddress: number, maxBackgroundDownloads: number }} imap
 * @property {{ maxBytes: number }} messages
 * @property {{ exemptAddresses: string[] } & import('./allowance.js').AllowanceLimits} limits
 */

/**
 * @typedef {object} Login - what a good login gives; `release` is called once, when the session has gone
 * @property {{ id: string, address: string }} account
 * @property {'read-write' | 'read-only'} scope
 * @property {string} [credentialId] - in the directory
 * @property {number} [credentialVersion] - as it was at the login
 * @property {AccountStore} store - open, shared by all sessions of the account in this process
 * @property {() => Promise<void>} release
 */

/**
 * @typedef {object} RemoteLogin - a good login whose session another worker serves
 * @property {{ id: string, address: string }} account
 * @property {'read-write' | 'read-only'} scope
 * @property {(connection: { socket: Socket, rest: Buffer }) => Promise<void>} relay - takes the client's socket, until it
 *   has closed
 * @property {(text: string) => void} end - BYE after the running command
 * @property {() => Promise<void>} release - called once where `relay` was not
 */

/**
 * @callback Authenticate
 * @param {{ username: string, password: Buffer, sessionId: string, remoteAddress: string, isTls: boolean,
 *   clientName: string | null, asker: import('./connection.js').Connection }} attempt - the password is zeroed by the caller
 *   afterwards; `asker`: the client may go meanwhile
 * @returns {Promise<Login | RemoteLogin>}
 * @throws {import('../../errors.js').MailError} AUTHENTICATION_FAILED, THROTTLED, or what opening the mailbox throws; and the
 *   signal's reason
 */

/**
 * @typedef {object} SessionLogger - pino's, as far as sessions use it
 * @property {(fields: object, text: string) => void} debug
 * @property {(fields: object, text: string) => void} info
 * @property {(fields: object, text: string) => void} warn
 * @property {(fields: object, text: string) => void} error
 * @property {(fields: object) => SessionLogger} child
 */

/**
 * @typedef {object} ImapServerContext - what a session may use of its server
 * @property {ImapConfig} config
 * @property {Authenticate} authenticate
 * @property {TlsContext | null} tls - null: no TLS, no STARTTLS
 * @property {Clock} clock
 * @property {Clock} steadyClock - for how long something takes or lasts
 * @property {SessionLogger} logger
 * @property {(error: unknown) => void} onUnexpectedError
 * @property {(remoteAddress: string) => boolean} isPlaintextAllowed
 * @property {(accountId: string) => boolean} hasRoomFor - whether one more session of the account may begin
 * @property {BackgroundDownloads} downloads
 * @property {Allowances['paceOf']} paceOf
 */

export {}
