/**
 * Addresses that an operator names in a setting.
 */
import { BlockList, isIP } from 'node:net'
import { MailError } from '../errors.js'
import { unmapAddress } from './loopback.js'

/** What an address with or without the length of a prefix is written with; a zone at the most, as in `fe80::1%eth0`. */
const ENTRY = /^([\d.]+|[\da-f:.]+(?:%\w+)?)(?:\/(\d{1,3}))?$/i

/**
 * @param {string} entry
 * @returns {boolean} whether it is a single address or a CIDR block
 */
export function isAddressOrBlock(entry) {
  try {
    addEntry(new BlockList(), entry)
    return true
  } catch {
    return false
  }
}

/**
 * Leaves it to Node's list what an address is: `isIP` compiles a long expression when it is first asked about IPv6, which
 * takes 10 ms of every start.
 *
 * @param {BlockList} blocks
 * @param {string} entry
 * @throws {Error} where it is neither a single address nor a CIDR block
 */
function addEntry(blocks, entry) {
  const [, address = '', bits] = ENTRY.exec(entry) ?? []
  const family = address.includes(':') ? 'ipv6' : 'ipv4'
  if (bits === undefined) blocks.addAddress(address, family)
  else blocks.addSubnet(address, Number(bits), family)
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
      try {
        addEntry(this.#blocks, entry)
      } catch {
        throw new MailError('CONFIG_INVALID', { detail: `${setting}: ${entry}` })
      }
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
