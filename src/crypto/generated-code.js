/**
 * The codes that this server makes: app passwords and recovery codes.
 *
 *   llapp-k3v9m2x-8q0zt4n-wd61yhr-c5jp7ge
 *   └kind └─ 28 symbols of 5 bits = 140 random bits, Crockford's base 32
 *
 * The shape alone says whether a text is a code, and of which kind, before any account is looked up. People retype codes, so case,
 * blanks and hyphens do not matter, and i, l and o are read as the digits that they look like.
 */
import { randomFillSync } from 'node:crypto'
import { SecretBuffer } from './secret-buffer.js'

/** @typedef {'app-password' | 'recovery'} CodeKind */

const ALPHABET = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz', 'latin1')
const SYMBOLS = 28
const GROUP = 7
const HYPHEN = 0x2d
const SPACE = 0x20

/** @type {Record<CodeKind, Buffer>} */
const PREFIX = {
  'app-password': Buffer.from('llapp', 'latin1'),
  recovery: Buffer.from('llrec', 'latin1')
}

/** Symbol of each byte as it may be typed; 0 = none. */
const CANONICAL = new Uint8Array(256)
for (const byte of ALPHABET) {
  CANONICAL[byte] = byte
  const upper = String.fromCharCode(byte).toUpperCase().charCodeAt(0)
  CANONICAL[upper] = byte
}
for (const [typed, meant] of ['i1', 'I1', 'l1', 'L1', 'o0', 'O0']) {
  CANONICAL[/** @type {string} */ (typed).charCodeAt(0)] = /** @type {string} */ (meant).charCodeAt(
    0
  )
}

const PREFIX_BYTES = 5

/**
 * @param {CodeKind} kind
 * @returns {{ code: SecretBuffer, text: string }} the canonical bytes, and what the person is shown
 */
export function generateCode(kind) {
  using random = SecretBuffer.alloc(SYMBOLS)
  randomFillSync(random.bytes)
  const code = SecretBuffer.alloc(SYMBOLS)
  for (let index = 0; index < SYMBOLS; index++) {
    // 256 is a multiple of 32: every symbol is equally likely.
    code.bytes[index] = /** @type {number} */ (
      ALPHABET[/** @type {number} */ (random.bytes[index]) & 31]
    )
  }
  const symbols = code.bytes.toString('latin1')
  const groups = symbols.match(new RegExp(`.{${GROUP}}`, 'g')) ?? []
  return { code, text: [PREFIX[kind].toString('latin1'), ...groups].join('-') }
}

/**
 * @param {Uint8Array} typed - stays as it is
 * @returns {{ kind: CodeKind, code: SecretBuffer } | null} null where the shape is not that of a code
 */
export function recognizeCode(typed) {
  const symbols = SecretBuffer.alloc(PREFIX_BYTES + SYMBOLS)
  let count = 0
  let isCode = typed.length <= 128
  for (let index = 0; index < typed.length && isCode; index++) {
    const byte = /** @type {number} */ (typed[index])
    if (byte === HYPHEN || byte === SPACE) continue
    // The prefix is read as letters; i, l and o are read as digits only among the symbols.
    const symbol = count < PREFIX_BYTES ? byte | 0x20 : /** @type {number} */ (CANONICAL[byte])
    isCode = symbol !== 0 && count < symbols.length
    if (isCode) symbols.bytes[count++] = symbol
  }
  try {
    if (!isCode || count !== symbols.length) return null
    for (const kind of /** @type {CodeKind[]} */ (['app-password', 'recovery'])) {
      if (symbols.bytes.subarray(0, PREFIX_BYTES).equals(PREFIX[kind])) {
        return { kind, code: SecretBuffer.copyOf(symbols.bytes.subarray(PREFIX_BYTES)) }
      }
    }
    return null
  } finally {
    symbols.dispose()
  }
}
