/** Strings for the wire: quoted where that is possible, else as literals. RFC 9051 §4.3. */

/** Strings of more bytes go as literals: every reader must look through a quoted one. */
const MAX_QUOTED_BYTES = 1024

const NIL = Buffer.from('NIL')

/** Text that stands between quotes as it is: ASCII without control characters, quotes and backslashes. */
const PLAIN = /^[ !#-[\]-~]*$/

/**
 * @param {Buffer | string} value - text becomes UTF-8
 * @param {{ isUtf8?: boolean }} [options] - `isUtf8`: 8-bit may stand in a quoted string (UTF8=ACCEPT or IMAP4rev2)
 * @returns {Buffer} a quoted string, or a literal when the value has 8-bit bytes, line ends or NUL, or is long
 */
export function compileString(value, { isUtf8 = false } = {}) {
  if (typeof value === 'string' && value.length <= MAX_QUOTED_BYTES && PLAIN.test(value))
    return Buffer.from(`"${value}"`, 'latin1')
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  if (bytes.length > MAX_QUOTED_BYTES) return compileLiteral(bytes)
  let escapes = 0
  for (const byte of bytes) {
    if (byte === 0 || byte === 10 || byte === 13 || (byte >= 128 && !isUtf8))
      return compileLiteral(bytes)
    if (byte === 34 || byte === 92) escapes += 1
  }
  const quoted = Buffer.allocUnsafe(bytes.length + escapes + 2)
  let at = 0
  quoted[at++] = 34
  for (const byte of bytes) {
    if (byte === 34 || byte === 92) quoted[at++] = 92
    quoted[at++] = byte
  }
  quoted[at] = 34
  return quoted
}

/**
 * @param {string | null} value
 * @returns {Buffer} `NIL` for null
 */
export function compileNstring(value) {
  return value === null ? NIL : compileString(value)
}

/**
 * @param {Buffer} bytes
 * @returns {Buffer} `{n}` CRLF and the bytes
 */
function compileLiteral(bytes) {
  return Buffer.concat([Buffer.from(`{${bytes.length}}\r\n`), bytes])
}
