/**
 * Lines of Dovecot's authentication protocol, version 1.2, as its clients (Postfix, Exim) write and read them
 * (Dovecot's documentation, "Authentication Protocol"): fields with tabs between them, LF at the end.
 *
 *     client: VERSION 1 1 · CPID 4711 · AUTH 1 PLAIN service=smtp nologin rip=192.0.2.1 secured resp=AGFubmEA…
 *     server: OK 1 user=anna@example.org
 *
 * Lines are taken as bytes, so that a password in one can be zeroed.
 */

const TAB = 0x09
const RESPONSE = Buffer.from('resp=')
const MAX_ID = 2 ** 32 - 1

/** The byte that begins an escape. */
const ESCAPE = '\x01'
/** Characters that cannot stand in a field, by what they are written as behind ESCAPE (Dovecot's "tabescaped"). */
const ESCAPES = new Map([
  ['\x00', '0'],
  [ESCAPE, '1'],
  ['\t', 't'],
  ['\r', 'r'],
  ['\n', 'n']
])
const UNESCAPED = new Map([...ESCAPES].map(([character, code]) => [code, character]))

/**
 * @typedef {{ command: 'VERSION', major: number }
 *   | { command: 'CPID' }
 *   | { command: 'AUTH', id: number, mechanism: string, parameters: Map<string, string>, response: Buffer | null }
 *   | { command: 'CONT', id: number, response: Buffer }
 *   | { command: 'CANCEL', id: number }} AuthRequest - `response` is base64, in memory of the line
 */

/**
 * @param {string} text
 * @returns {string}
 */
export function unescapeField(text) {
  const [start = '', ...pieces] = text.split(ESCAPE)
  let plain = start
  for (const piece of pieces) {
    const [code = ''] = piece
    plain += (UNESCAPED.get(code) ?? code) + piece.slice(code.length)
  }
  return plain
}

/**
 * @param {string} text
 * @returns {string}
 */
export const escapeField = (text) =>
  [...text]
    .map((character) => {
      const code = ESCAPES.get(character)
      return code === undefined ? character : ESCAPE + code
    })
    .join('')

/**
 * @param {...(string | number)} fields - the command first
 * @returns {string} with the LF
 */
export const formatLine = (...fields) =>
  `${fields.map((field) => escapeField(String(field))).join('\t')}\n`

/**
 * @param {Buffer} line - without its LF
 * @returns {Buffer[]}
 */
function splitFields(line) {
  const fields = []
  for (let from = 0; ;) {
    const at = line.indexOf(TAB, from)
    if (at < 0) return [...fields, line.subarray(from)]
    fields.push(line.subarray(from, at))
    from = at + 1
  }
}

/**
 * @param {Buffer | undefined} field
 * @returns {number | null} null where the field is no id
 */
function idOf(field) {
  const text = field?.toString('latin1') ?? ''
  const id = /^\d{1,10}$/.test(text) ? Number(text) : -1
  return id >= 0 && id <= MAX_ID ? id : null
}

/**
 * @param {Buffer[]} fields - after the mechanism
 * @returns {{ parameters: Map<string, string>, response: Buffer | null }} a parameter without a value has ''
 */
function splitParameters(fields) {
  const parameters = new Map()
  for (const field of fields) {
    // `resp` is the last parameter.
    if (field.subarray(0, RESPONSE.length).equals(RESPONSE)) {
      return { parameters, response: field.subarray(RESPONSE.length) }
    }
    const text = unescapeField(field.toString('utf8'))
    const at = text.indexOf('=')
    if (at < 0) parameters.set(text, '')
    else parameters.set(text.slice(0, at), text.slice(at + 1))
  }
  return { parameters, response: null }
}

/**
 * @param {Buffer} line - without its LF
 * @returns {AuthRequest | null} null for what is no line of this protocol
 */
export function parseRequest(line) {
  const [name = line, first, second, ...rest] = splitFields(line)
  const command = name.toString('latin1')
  if (command === 'CPID') return { command }
  const id = idOf(first)
  if (id === null) return null
  switch (command) {
    case 'VERSION':
      return { command, major: id }
    case 'CANCEL':
      return { command, id }
    case 'CONT':
      return { command, id, response: second ?? Buffer.alloc(0) }
    case 'AUTH':
      if (second === undefined) return null
      return { command, id, mechanism: second.toString('latin1'), ...splitParameters(rest) }
    default:
      return null
  }
}
