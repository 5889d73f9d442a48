/** From tokens to typed arguments: one entry for each command. RFC 9051 §6. */
import { SyntaxFailure } from '../syntax-failure.js'
import { parseAppend } from './append.js'
import { Arguments } from './arguments.js'
import { parseAuthenticate } from './authenticate.js'
import { parseCompress } from './compress.js'
import { parseCopy, parseUidExpunge } from './copy.js'
import { parseCreate } from './create.js'
import { parseEnable } from './enable.js'
import { parseFetch } from './fetch.js'
import { parseId } from './id.js'
import { parseList, parseLsub } from './list.js'
import { parseLogin } from './login.js'
import { parseMailbox, parseRename } from './mailbox.js'
import { parseNoArguments } from './no-arguments.js'
import { parseGetQuota } from './quota.js'
import { parseSearch } from './search.js'
import { parseSelect } from './select.js'
import { parseSort } from './sort.js'
import { parseStatus } from './status.js'
import { parseStore } from './store.js'
import { parseThread } from './thread.js'

export { parseAppendStart } from './append.js'
export { decodeBase64 } from './base64.js'

/** @typedef {import('../token.js').RawCommand} RawCommand */

const noArguments = { parse: parseNoArguments }
const mailbox = { parse: parseMailbox }

/** Each command's parser, by name. */
export const COMMANDS = Object.freeze({
  APPEND: { parse: parseAppend },
  AUTHENTICATE: { parse: parseAuthenticate },
  CAPABILITY: noArguments,
  CHECK: noArguments,
  CLOSE: noArguments,
  COMPRESS: { parse: parseCompress },
  COPY: { parse: parseCopy },
  CREATE: { parse: parseCreate },
  DELETE: mailbox,
  ENABLE: { parse: parseEnable },
  EXAMINE: { parse: parseSelect },
  EXPUNGE: noArguments,
  FETCH: { parse: parseFetch },
  GETQUOTA: { parse: parseGetQuota },
  GETQUOTAROOT: mailbox,
  ID: { parse: parseId },
  IDLE: noArguments,
  LIST: { parse: parseList },
  LOGIN: { parse: parseLogin },
  LOGOUT: noArguments,
  LSUB: { parse: parseLsub },
  MOVE: { parse: parseCopy },
  NAMESPACE: noArguments,
  NOOP: noArguments,
  RENAME: { parse: parseRename },
  SEARCH: { parse: parseSearch },
  SELECT: { parse: parseSelect },
  SORT: { parse: parseSort },
  STARTTLS: noArguments,
  STATUS: { parse: parseStatus },
  STORE: { parse: parseStore },
  SUBSCRIBE: mailbox,
  THREAD: { parse: parseThread },
  'UID COPY': { parse: parseCopy },
  'UID EXPUNGE': { parse: parseUidExpunge },
  'UID FETCH': { parse: parseFetch },
  'UID MOVE': { parse: parseCopy },
  'UID SEARCH': { parse: parseSearch },
  'UID SORT': { parse: parseSort },
  'UID STORE': { parse: parseStore },
  'UID THREAD': { parse: parseThread },
  UNSELECT: noArguments,
  UNSUBSCRIBE: mailbox
})

/** @typedef {keyof typeof COMMANDS} CommandName */

/** @typedef {{ [Name in CommandName]: ReturnType<(typeof COMMANDS)[Name]['parse']> }} CommandArguments */

/** @typedef {{ [Name in CommandName]: { tag: string, name: Name, args: CommandArguments[Name] } }[CommandName]} Command */

/**
 * @param {RawCommand} raw
 * @param {{ isUtf8: boolean }} options - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled
 * @returns {Command} discriminated by `name`
 * @throws {SyntaxFailure}
 */
export function parseCommand(raw, { isUtf8 }) {
  const name = /** @type {CommandName} */ (raw.name)
  if (!Object.hasOwn(COMMANDS, name)) throw new SyntaxFailure('UNKNOWN_COMMAND', 'Unknown command')
  const parse =
    /** @type {(args: Arguments, command: { isUid: boolean }) => CommandArguments[CommandName]} */ (
      COMMANDS[name].parse
    )
  const args = parse(new Arguments(raw.tokens, { isUtf8 }), { isUid: name.startsWith('UID ') })
  return /** @type {Command} */ ({ tag: raw.tag, name, args })
}
