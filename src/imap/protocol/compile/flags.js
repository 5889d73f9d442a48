/** Flag lists, RFC 9051 §7.3.5 (FLAGS). */

/**
 * @param {readonly string[]} flags
 * @returns {string} `(\Seen $Junk)`
 */
export function compileFlagList(flags) {
  return `(${flags.join(' ')})`
}

/**
 * @param {readonly string[]} flags - that exist in the mailbox
 * @returns {Buffer} the untagged FLAGS response
 */
export function compileFlags(flags) {
  return Buffer.from(`* FLAGS ${compileFlagList(flags)}\r\n`, 'latin1')
}
