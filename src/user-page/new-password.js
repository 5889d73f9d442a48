/**
 * A new password, typed twice.
 */
import { html } from './html.js'
import { passwordField } from './layout.js'
import { Refusal } from './problem.js'

/** @import { FormBody } from './form-body.js' */

/**
 * NIST SP 800-63B (revision 3) §5.1.1.2 asks for no less, for all of a longer password to count, and for no rules about its
 * characters.
 */
const MIN_CHARACTERS = 8

/** The fields that `newPasswordOf` reads. */
export const newPasswordFields = html`
  ${passwordField({
    name: 'new',
    label: 'New password',
    autocomplete: 'new-password',
    minLength: MIN_CHARACTERS,
    hint: `At least ${MIN_CHARACTERS} characters. Several words that do not belong together are better than one with odd signs: your mail is encrypted with it.`
  })}
  ${passwordField({
    name: 'again',
    label: 'New password, once more',
    autocomplete: 'new-password',
    minLength: MIN_CHARACTERS
  })}
`

/**
 * @param {FormBody} form
 * @returns {Buffer} the form's
 * @throws {Refusal} 422
 */
export function newPasswordOf(form) {
  const password = form.secret('new')
  if (!password.equals(form.secret('again'))) {
    throw new Refusal(422, 'The two new passwords are not the same. Nothing was changed.')
  }
  // Counts the bytes that begin a character (RFC 3629 §3): a string would leave a copy of the password in memory.
  let characters = 0
  for (const byte of password) if ((byte & 0xc0) !== 0x80) characters++
  if (characters < MIN_CHARACTERS) {
    throw new Refusal(422, `A password needs at least ${MIN_CHARACTERS} characters.`)
  }
  return password
}
