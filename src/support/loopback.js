/**
 * Which addresses are this machine's own.
 */

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/**
 * @param {string} address
 * @returns {string} an IPv4 address also where a socket shows it mapped into IPv6
 */
export function unmapAddress(address) {
  return MAPPED_IPV4.exec(address)?.[1] ?? address
}

/**
 * @param {string} address - of the peer
 * @returns {boolean} whether it is in 127.0.0.0/8 or ::1
 */
export function isLoopback(address) {
  const plain = unmapAddress(address)
  return plain === '::1' || /^127\.\d+\.\d+\.\d+$/.test(plain)
}
