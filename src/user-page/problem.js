/**
 * What a person is told when something does not go as it should. `detail` of a MailError is not told: it is meant for the log.
 */
import { MailError } from '../errors.js'

/** @import { ErrorCode } from '../errors.js' */

/** @typedef {{ status: number, text: string }} Problem */

/** A refusal in words of its own, shown on a page of its own or above the form that it is about. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} text
   */
  constructor(status, text) {
    super(text)
    this.name = 'Refusal'
    this.status = status
  }
}

/** For temporary errors that are not in PROBLEMS. */
const LATER = { status: 503, text: 'That cannot be done right now. Try again in a minute.' }

const NO_ROOM = { status: 503, text: 'The server has no room for that. Tell whoever runs it.' }

/** Errors about which people can do something; all others are the server's fault. */
const PROBLEMS = /** @satisfies {Partial<Record<ErrorCode, Problem>>} */ ({
  AUTHENTICATION_FAILED: { status: 403, text: 'The password is not right.' },
  THROTTLED: { status: 429, text: 'Too many attempts. Wait some minutes, then try again.' },
  ACCOUNT_DISABLED: {
    status: 403,
    text: 'This account is disabled. Ask whoever runs this mail server.'
  },
  PEPPER_MISSING: {
    status: 503,
    text: 'The server has lost what it checks this password with. With the recovery code you can set a new one.'
  },
  PASSWORD_REFUSED: {
    status: 422,
    text: 'That cannot be a password here: it is too long, or looks like a code that this server makes.'
  },
  LIMIT: {
    status: 422,
    text: 'That is over a limit: a name has at most 100 characters, and there are at most 100 app passwords.'
  },
  LABEL_REFUSED: {
    status: 422,
    text: 'A name cannot have control characters in it, such as tabs or line breaks.'
  },
  CREDENTIAL_NOT_FOUND: { status: 404, text: 'It is not there any more.' },
  DISK_FULL: NO_ROOM,
  SCRATCH_FULL: NO_ROOM
})

/**
 * @param {unknown} error
 * @returns {Problem | null} null for what nobody expected
 */
export function problemOf(error) {
  if (error instanceof Refusal) return { status: error.status, text: error.message }
  if (error instanceof MailError) {
    const known = /** @type {Partial<Record<ErrorCode, Problem>>} */ (PROBLEMS)[error.code]
    return known ?? (error.temporary ? LATER : null)
  }
  // Fastify's own: a body that is too large, or of another kind than a form.
  const { statusCode = 500 } = /** @type {{ statusCode?: number }} */ (error)
  if (!(error instanceof Error) || statusCode < 400 || statusCode >= 500) return null
  return { status: statusCode, text: 'That request cannot be understood.' }
}
