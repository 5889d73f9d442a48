/**
 * NUL may stand in no literal but a literal8 (RFC 3501 §9, RFC 9051 §9: CHAR8), while mail has it now and then. Sections show
 * 0x80 in its place, as Dovecot's do: no length changes, nor do the stored bytes. BINARY tells the bytes as they are.
 */
const NUL = 0
const SHOWN_FOR_NUL = 0x80

/**
 * @param {Buffer} bytes - of text sections; changed in place. Where there is no NUL that is a search of 0.1 us for 14 KB.
 */
export function maskNul(bytes) {
  const first = bytes.indexOf(NUL)
  if (first === -1) return
  // A loop, because there may be nothing but NUL: a search for each took fifty times as long.
  for (let at = first; at < bytes.length; at++) if (bytes[at] === NUL) bytes[at] = SHOWN_FOR_NUL
}

/**
 * @param {Buffer} bytes - of a text section; left as they are
 * @returns {Buffer} these, or a copy where one has to be made
 */
export function withoutNul(bytes) {
  if (!bytes.includes(NUL)) return bytes
  const shown = Buffer.from(bytes)
  maskNul(shown)
  return shown
}
