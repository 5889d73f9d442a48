/**
 * Addresses that an operator names in a setting.
 */
import { BlockList, isIP } from 'node:net'
import { MailError } from '../errors.js'
import { unmapAddress } from './loopback.js'

/**
 * @param {string} entry
 * @returns {boolean} whether it is a single address or a CIDR block
 */
export function isAddressOrBlock(entry) {
  const [address = '', bits, ...rest] = entry.split('/')
  const widest = isIP(address) === 6 ? 128 : 32
  if (isIP(address) === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest)
}

/** Single addresses and CIDR blocks. */
export class AddressList {
  #blocks = new BlockList()

  /**
   * @param {readonly string[]} entries
   * @param {string} setting - named in the complaint
   * @throws {MailError} CONFIG_INVALID
   */
  constructor(entries, setting) {
    for (const entry of entries) {
      if (!isAddressOrBlock(entry))
        throw new MailError('CONFIG_INVALID', { detail: `${setting}: ${entry}` })
      const [address = '', bits] = entry.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#blocks.addAddress(address, family)
      else this.#blocks.addSubnet(address, Number(bits), family)
    }
  }

  /**
   * @param {string} address - a peer's; IPv4 may be mapped into IPv6
   * @returns {boolean} false for what is no address
   */
  has(address) {
    const plain = unmapAddress(address)
    const family = isIP(plain)
    return family !== 0 && this.#blocks.check(plain, family === 6 ? 'ipv6' : 'ipv4')
  }
}
