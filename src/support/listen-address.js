/**
 * Where a listener is to be reached, as the settings say it.
 */

/**
 * @typedef {object} ListenAddress
 * @property {string} host - a name or an address, of IPv6 without brackets
 * @property {number} port
 */

/**
 * @param {string} setting - HOST:PORT, [IPV6]:PORT or `off`, as the schema has checked
 * @returns {ListenAddress | null} null for `off`
 */
export function parseListenAddress(setting) {
  if (setting === 'off') return null
  const colon = setting.lastIndexOf(':')
  return {
    host: setting.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(setting.slice(colon + 1))
  }
}
