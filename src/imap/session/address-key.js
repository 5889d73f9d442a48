/**
 * Client addresses: which count as one.
 */
import { isIPv6 } from 'node:net'
import { unmapAddress } from '../../support/loopback.js'

/**
 * What connections are counted by: the IPv4 address, or the IPv6 /64, which is what one household or server gets.
 *
 * @param {string} address
 * @returns {string}
 */
export function addressKey(address) {
  const plain = unmapAddress(address).split('%', 1)[0] ?? ''
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
