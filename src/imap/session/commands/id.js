/**
 * ID exchanges program names. The client's name is kept for the account's owner, who wants to tell sessions apart.
 *
 * iOS Mail says with it, at any time of a session, whether the connection only fills its store in the background, as all iPhones may
 * do at once after an update. It takes a NO as a request to come back a day later, and ends the connection: those who have the
 * mail before their eyes come first.
 *
 * State: any.
 * Command and response: RFC 2971 §3.1, §3.2; Apple's TN3189 (`event`); RFC 5530 §3 (UNAVAILABLE). Outlook fails to log in on an odd
 * answer, so it is a plain list.
 */
import { CODE } from '../../protocol/compile/response-code.js'
import { compileId } from '../../protocol/compile/untagged.js'
import { ANY_STATE } from '../states.js'

/** @import { Command } from '../dispatcher.js' */

/** @typedef {Map<string, string | null>} IdParams - by RFC 2971 §3.3; names in lower case */

/** At most so many characters of a program's name and version are kept. */
const MAX_NAME_CHARACTERS = 60

/** What iOS does in the background that can wait. It has other events, for which somebody may be waiting. */
const BACKGROUND_EVENTS = new Set(['back-fill', 'indexer'])

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
  async run(session, /** @type {{ params: IdParams | null }} */ { params }) {
    session.clientName = clientNameOf(params) ?? session.clientName
    session.write(compileId(SERVER_ID))
    const { downloads } = session.context
    downloads.end(session)
    const isAdmitted = !isBackgroundDownload(params) || downloads.begin(session)
    if (isAdmitted) return { text: 'ID completed' }
    const text = 'Too many downloads in the background, come back later'
    return { status: 'NO', code: CODE.unavailable, text }
  }
}

/**
 * @param {IdParams | null} params
 * @returns {string | null} for instance `Thunderbird 140.1`; printable, and never longer than a line
 */
function clientNameOf(params) {
  const name = params?.get('name')
  if (!name) return null
  const text = [name, params?.get('version') ?? ''].join(' ').replace(/[\p{C}\s]+/gu, ' ')
  return text.trim().slice(0, MAX_NAME_CHARACTERS)
}

/**
 * @param {IdParams | null} params
 * @returns {boolean}
 */
function isBackgroundDownload(params) {
  if (!params?.get('name')?.startsWith('com.apple.')) return false
  const events = params.get('event')?.split(',') ?? []
  return events.some((event) => BACKGROUND_EVENTS.has(event.trim()))
}
