/**
 * ID exchanges program names. The client's name is kept for the account's owner, who wants to tell sessions apart.
 *
 * State: any.
 * Command and response: RFC 2971 §3.1, §3.2. Outlook fails to log in on an odd answer, so it is a plain list.
 */
import { compileId } from '../../protocol/compile/untagged.js'
import { ANY_STATE } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** At most so many characters of a program's name and version are kept. */
const MAX_NAME_CHARACTERS = 60

/**
 * No version: it would tell a stranger what to try.
 *
 * @type {readonly [string, string][]}
 */
const SERVER_ID = [
  ['name', 'Letterlock'],
  ['vendor', 'Letterlock']
]

/** @type {Command} */
export const id = {
  name: 'ID',
  states: ANY_STATE,
  allowsExpunge: true,
  async run(session, /** @type {{ params: Map<string, string | null> | null }} */ { params }) {
    session.clientName = clientNameOf(params) ?? session.clientName
    session.write(compileId(SERVER_ID))
    return { text: 'ID completed' }
  }
}

/**
 * @param {Map<string, string | null> | null} params - by RFC 2971 §3.3
 * @returns {string | null} for instance `Thunderbird 140.1`; printable, and never longer than a line
 */
function clientNameOf(params) {
  const name = params?.get('name')
  if (!name) return null
  const text = [name, params?.get('version') ?? ''].join(' ').replace(/[\p{C}\s]+/gu, ' ')
  return text.trim().slice(0, MAX_NAME_CHARACTERS)
}
