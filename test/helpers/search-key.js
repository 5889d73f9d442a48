import { parseCommand } from '../../src/imap/protocol/parse/index.js'
import { Receiver } from '../../src/imap/protocol/receiver.js'

/** @typedef {import('../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */

/**
 * @param {string} text - what stands after SEARCH, such as `OR SEEN SUBJECT "x"`
 * @returns {SearchKey}
 */
export function searchKey(text) {
  const receiver = new Receiver({
    maxLineBytes: 65_536,
    maxLiteralBytes: 65_536,
    maxNesting: 50,
    maxCommandBytes: 65_536,
    maxMessageBytes: 65_536
  })
  receiver.push(Buffer.from(`a SEARCH ${text}\r\n`))
  const event = receiver.read()
  if (event?.kind !== 'command') throw new Error(`no command: ${text}`)
  const { args } = parseCommand(event.command, { isUtf8: true })
  return /** @type {import('../../src/imap/protocol/parse/search.js').SearchArguments} */ (args).key
}
