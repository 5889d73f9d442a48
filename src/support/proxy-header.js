/**
 * The PROXY protocol, versions 1 and 2 (haproxy's proxy-protocol.txt): what a load balancer says about its client before
 * the client's first byte. Only taken from addresses that are trusted, because whoever may send it may claim any address.
 */
import { isIP, SocketAddress } from 'node:net'
import { AddressList } from './address-list.js'
import { unmapAddress } from './loopback.js'
import { somethingHappens } from './socket-event.js'

/** @import { Socket } from 'node:net' */

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
/** §2.1: the longest version 1 header, with its CRLF. */
const MAX_V1_BYTES = 107
/** §2.2: signature, version and command, family, length. */
const V2_HEAD_BYTES = 16
/** Addresses and what a balancer adds to them (TLVs); more is none of ours. */
const MAX_V2_BYTES = V2_HEAD_BYTES + 4096
/** The header must be there after so many ms: a balancer sends it at once. */
const HEADER_MS = 5_000

/**
 * @typedef {{ size: number, address: string | null }} ProxyHeader - `address` is null where the balancer speaks for itself
 *   (health checks)
 */

/**
 * @param {Buffer} bytes - of the connection, from its start
 * @returns {ProxyHeader | 'incomplete' | 'invalid'}
 */
export function parseProxyHeader(bytes) {
  const start = bytes.subarray(0, SIGNATURE.length)
  if (start.equals(SIGNATURE.subarray(0, start.length))) {
    return start.length < SIGNATURE.length ? 'incomplete' : parseV2(bytes)
  }
  const prefix = 'PROXY '
  if (start.toString('latin1', 0, prefix.length) === prefix.slice(0, start.length)) {
    return parseV1(bytes)
  }
  return 'invalid'
}

/**
 * @param {Buffer} bytes
 * @returns {ProxyHeader | 'incomplete' | 'invalid'}
 */
function parseV1(bytes) {
  const end = bytes.subarray(0, MAX_V1_BYTES).indexOf('\r\n')
  if (end < 0) return bytes.length < MAX_V1_BYTES ? 'incomplete' : 'invalid'
  const [, family, source = '', destination = '', ...ports] = bytes
    .toString('latin1', 0, end)
    .split(' ')
  const size = end + 2
  if (family === 'UNKNOWN') return { size, address: null }
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : null
  const isGood =
    version !== null &&
    isIP(source) === version &&
    isIP(destination) === version &&
    ports.length === 2 &&
    ports.every((port) => /^\d{1,5}$/.test(port) && Number(port) < 65_536)
  return isGood ? { size, address: asOfASocket(source) } : 'invalid'
}

/**
 * @param {Buffer} bytes - longer than the signature
 * @returns {ProxyHeader | 'incomplete' | 'invalid'}
 */
function parseV2(bytes) {
  if (bytes.length < V2_HEAD_BYTES) return 'incomplete'
  const command = bytes.readUInt8(12)
  const family = bytes.readUInt8(13)
  const size = V2_HEAD_BYTES + bytes.readUInt16BE(14)
  if ((command !== 0x20 && command !== 0x21) || size > MAX_V2_BYTES) return 'invalid'
  if (bytes.length < size) return 'incomplete'
  if (command === 0x20) return { size, address: null }
  const addresses = bytes.subarray(V2_HEAD_BYTES, size)
  // TCP over IPv4 and over IPv6; for anything else no address is taken from the header.
  if (family === 0x11 && addresses.length >= 12)
    return { size, address: addresses.subarray(0, 4).join('.') }
  if (family === 0x21 && addresses.length >= 36) {
    const groups = Array.from({ length: 8 }, (_, at) => addresses.readUInt16BE(2 * at).toString(16))
    return { size, address: asOfASocket(groups.join(':')) }
  }
  return family === 0x11 || family === 0x21 ? 'invalid' : { size, address: null }
}

/**
 * @param {string} address - IPv4 or IPv6
 * @returns {string} in the shortest form. An IPv4 address that is mapped into IPv6, as by balancers that listen for both
 *   (HAProxy's `v4v6`), is given as IPv4: whoever counts by /64 would take all mapped ones for one
 */
function asOfASocket(address) {
  if (isIP(address) === 4) return address
  return unmapAddress(new SocketAddress({ address, family: 'ipv6' }).address)
}

/** Whom a PROXY header is taken from. */
export class ProxyTrust {
  #trusted

  /**
   * @param {readonly string[]} addresses - single ones or CIDR blocks
   * @throws {import('../errors.js').MailError} CONFIG_INVALID
   */
  constructor(addresses) {
    this.#trusted = new AddressList(addresses, 'proxy.trustedAddresses')
  }

  /**
   * Reads the header, and leaves what follows it on the socket.
   *
   * @param {Socket} socket - nothing has been read from it yet
   * @returns {Promise<string | null>} the client's address; null where the connection is to be dropped: it comes from
   *   elsewhere, or began with something else
   */
  async clientOf(socket) {
    const peer = unmapAddress(socket.remoteAddress ?? '')
    if (!this.#trusted.has(peer)) return null
    const header = await readHeader(socket)
    return header === null ? null : (header.address ?? peer)
  }
}

/**
 * @param {Socket} socket
 * @returns {Promise<ProxyHeader | null>}
 */
async function readHeader(socket) {
  let bytes = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), HEADER_MS)
  socket.on('error', ignore)
  try {
    for (;;) {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        bytes = Buffer.concat([bytes, chunk])
      }
      const header = parseProxyHeader(bytes)
      if (header === 'invalid') return null
      if (header !== 'incomplete') {
        const rest = bytes.subarray(header.size)
        if (rest.length > 0) socket.unshift(rest)
        return header
      }
      if (socket.destroyed || socket.readableEnded) return null
      await somethingHappens(socket)
    }
  } finally {
    clearTimeout(timer)
    socket.off('error', ignore)
  }
}

/** After an error comes a close, and that is looked at. */
const ignore = () => {}
