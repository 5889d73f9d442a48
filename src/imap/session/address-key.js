/**
 * Client addresses: which are this machine, and which count as one.
 */
import { isIPv6 } from 'node:net'

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/**
 * @param {string} address
 * @returns {string} an IPv4 address also where the socket shows it mapped into IPv6
 */
function unmap(address) {
  return MAPPED_IPV4.exec(address)?.[1] ?? address
}

/**
 * @param {string} address - of the peer
 * @returns {boolean} whether it is in 127.0.0.0/8 or ::1
 */
export function isLoopback(address) {
  const plain = unmap(address)
  return plain === '::1' || /^127\.\d+\.\d+\.\d+$/.test(plain)
}

/**
 * What connections are counted by: the IPv4 address, or the IPv6 /64, which is what one household or server gets.
 *
 * @param {string} address
 * @returns {string}
 */
export function addressKey(address) {
  const plain = unmap(address).split('%', 1)[0] ?? ''
  if (!isIPv6(plain) || plain === '::1') return plain
  const [head = '', tail = ''] = plain.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const groups = [
    ...left,
    ...Array(Math.max(0, 8 - left.length - right.length)).fill('0'),
    ...right
  ]
  const prefix = groups.slice(0, 4).map((group) => parseInt(group, 16).toString(16))
  return `${prefix.join(':')}::/64`
}
