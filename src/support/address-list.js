/**
 * Addresses that an operator names in a setting.
 */
import { BlockList, isIP } from 'node:net'
import { MailError } from '../errors.js'
import { unmapAddress } from './loopback.js'

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
      const [address = '', bits] = entry.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      const widest = family === 'ipv6' ? 128 : 32
      const isGood = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest)
      if (isIP(address) === 0 || !isGood)
        throw new MailError('CONFIG_INVALID', { detail: `${setting}: ${entry}` })
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
