/**
 * Labels: what people call an app password, a token or a tenant. They are seen in lists, also on an operator's terminal.
 */
import { MailError } from '../errors.js'

/** A label has at most so many characters. */
const MAX_LABEL_CHARACTERS = 100

/** Control characters: a terminal takes them for commands, and with line ends a user could write lines of their own into a list. */
const CONTROL = /\p{Cc}/u

/**
 * @param {string} label
 * @throws {MailError} LIMIT, LABEL_REFUSED
 */
export function requireLabel(label) {
  if ([...label].length > MAX_LABEL_CHARACTERS) {
    throw new MailError('LIMIT', {
      detail: `a label has at most ${MAX_LABEL_CHARACTERS} characters`
    })
  }
  if (CONTROL.test(label)) throw new MailError('LABEL_REFUSED')
}
