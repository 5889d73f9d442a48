/**
 * Client addresses: which count as one.
 */
import { isIPv6 } from 'node:net'
import { unmapAddress } from './loopback.js'

/**
 * What connections and failed logins are counted by: the IPv4 address, or the IPv6 /64, which is what one household or
 * server gets.
 *
 * @param {string} address
 * @returns {string}
 */
export function addressKey(address) {
  const plain = unmapAddress(address.split('%', 1)[0] ?? '')
  // The first question about IPv6 compiles a long expression, for 10 ms: not asked of what cannot be one.
  if (!plain.includes(':') || !isIPv6(plain)) return plain
  const [head = '', tail] = plain.toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    // A final dotted quad stands for two groups; it is never among the first four.
    const rest = tail === '' ? [] : tail.replace(/[\d.]+\.\d+$/, '0:0').split(':')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  const prefix = groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''))
  return `${prefix.join(':')}::/64`
}
