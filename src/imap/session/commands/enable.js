/**
 * ENABLE turns on extensions that change what the server says unasked. Unknown names are ignored; NeoMutt enables
 * UTF8=ACCEPT without looking at the capabilities, and is answered OK.
 *
 * State: authenticated and selected (RFC 5161 asks for the first only; imapflow enables late).
 * Command: RFC 5161 §3.1, RFC 9051 §6.3.1 (IMAP4rev2). Response: RFC 5161 §3.2. UTF8=ACCEPT: RFC 6855 §3. CONDSTORE:
 * RFC 7162 §3.1. QRESYNC: RFC 7162 §3.2.3.
 */
import { compileEnabled } from '../../protocol/compile/untagged.js'
import { AUTHENTICATED } from '../states.js'

/** @import { Command } from '../dispatcher.js' */
/** @import { Session } from '../session.js' */

/** @type {Readonly<Record<string, (session: Session) => boolean>>} as they are spelled; each says whether it is new */
const EXTENSIONS = {
  CONDSTORE(session) {
    const isNew = !session.enabled.isCondstore
    session.enableCondstore()
    return isNew
  },
  QRESYNC(session) {
    const isNew = !session.enabled.isQresync
    session.enabled.isQresync = true
    session.enableCondstore()
    return isNew
  },
  'UTF8=ACCEPT'(session) {
    const isNew = !session.enabled.acceptsUtf8
    session.enabled.acceptsUtf8 = true
    return isNew
  },
  IMAP4rev2(session) {
    const isNew = !session.enabled.isRev2
    session.enableRev2()
    return isNew
  }
}

/** By the name in upper case. */
const EXTENSION_OF = new Map(
  Object.entries(EXTENSIONS).map(([name, enable]) => [name.toUpperCase(), { name, enable }])
)

/** @type {Command} */
export const enable = {
  name: 'ENABLE',
  states: AUTHENTICATED,
  allowsExpunge: true,
  async run(session, /** @type {{ capabilities: string[] }} */ { capabilities }) {
    const enabled = capabilities.flatMap((word) => {
      const extension = EXTENSION_OF.get(word)
      return extension?.enable(session) === true ? [extension.name] : []
    })
    session.write(compileEnabled(enabled))
    return { text: 'ENABLE completed' }
  }
}
