/** Modified UTF-7, RFC 3501 §5.1.3: printable ASCII is itself, `&` is `&-`, all else is UTF-16 in base64 between `&` and `-`. */

const SHIFT = /&([^-]*)(-?)/g
const BASE64 = /^[A-Za-z0-9+,]+$/

const NEEDS_SHIFT = /&|[^\x20-\x7e]+/g

/**
 * @param {string} text - what is not ASCII stays as it is
 * @returns {string | null} null when it is not valid
 */
export function decodeUtf7(text) {
  if (!text.includes('&')) return text
  let isValid = true
  const decoded = text.replace(SHIFT, (_, base64, end) => {
    if (base64 === '' && end === '-') return '&'
    const run = end === '-' && BASE64.test(base64) ? decodeRun(base64) : null
    if (run === null) isValid = false
    return run ?? ''
  })
  return isValid ? decoded : null
}

/**
 * @param {string} text - valid
 * @returns {boolean} whether an encoder may have written it: it leaves the bits behind the last unit of a run zero, and words
 *   between `&` and `-` mostly do not
 */
export const isExactUtf7 = (text) =>
  [...text.matchAll(SHIFT)].every(([, base64 = '']) => {
    const bytes = Buffer.from(base64.replaceAll(',', '/'), 'base64')
    return toBase64(bytes) === base64
  })

/**
 * @param {string} text
 * @returns {string} ASCII
 */
export function encodeUtf7(text) {
  return text.replace(NEEDS_SHIFT, (run) => {
    if (run === '&') return '&-'
    return `&${toBase64(Buffer.from(run, 'utf16le').swap16())}-`
  })
}

/**
 * @param {Buffer} bytes
 * @returns {string} with `,` for `/`, without padding
 */
const toBase64 = (bytes) => bytes.toString('base64').replace(/=+$/, '').replaceAll('/', ',')

/**
 * @param {string} base64 - with `,` for `/`, without padding
 * @returns {string | null}
 */
function decodeRun(base64) {
  const bytes = Buffer.from(base64.replaceAll(',', '/'), 'base64')
  // Each 16-bit unit takes 2 2/3 characters: no encoder writes a number of them that leaves more than the padding bits.
  if (bytes.length % 2 !== 0 || bytes.length === 0) return null
  if (base64.length !== Math.ceil((bytes.length * 4) / 3)) return null
  return bytes.swap16().toString('utf16le')
}
