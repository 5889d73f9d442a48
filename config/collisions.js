/**
 * Listeners that would take each other's place. The system refuses the second one to a single process. Under PM2 all workers
 * listen on one handle of the daemon's, which is never right again after such a refusal: no worker that has died comes back.
 */
import { parseListenAddress } from '../src/support/listen-address.js'
import { SETTINGS } from './default.js'

/** Hosts that mean every address; on ANY_IPV6, Node listens for IPv4, too. */
const ANY_IPV4 = '0.0.0.0'
const ANY_IPV6 = '[::]'

const LISTENERS = Object.keys(SETTINGS).filter((name) => name.endsWith('.listen'))
const SOCKETS = Object.keys(SETTINGS).filter((name) => name.endsWith('.socket'))

/**
 * @param {string} setting - HOST:PORT
 * @returns {string} the host in the one form that it has in a URL: IPv6 in brackets
 */
function hostOf(setting) {
  const host = setting.slice(0, setting.lastIndexOf(':'))
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : host
}

/**
 * @param {string} one
 * @param {string} other - with the same port
 * @returns {boolean} whether an address of this machine belongs to both; a name may stand for IPv4 or IPv6
 */
function overlap(one, other) {
  const hosts = [hostOf(one), hostOf(other)]
  if (hosts[0] === hosts[1] || hosts.includes(ANY_IPV6)) return true
  return (
    hosts.includes(ANY_IPV4) && hosts.some((host) => host !== ANY_IPV4 && !host.startsWith('['))
  )
}

/**
 * @param {Record<string, unknown>} settings - all, checked, by dotted name
 * @returns {string[]} a complaint for each pair
 */
export function collisionsIn(settings) {
  const listening = LISTENERS.map((name) => ({ name, where: String(settings[name]) })).filter(
    // For port 0 the system gives each listener a port of its own.
    ({ where }) => (parseListenAddress(where)?.port ?? 0) !== 0
  )
  const sockets = SOCKETS.map((name) => ({ name, where: String(settings[name]) })).filter(
    ({ where }) => where !== ''
  )
  return [
    ...pairs(listening).filter(
      ([{ where: one }, { where: other }]) =>
        parseListenAddress(one)?.port === parseListenAddress(other)?.port && overlap(one, other)
    ),
    ...pairs(sockets).filter(([{ where: one }, { where: other }]) => one === other)
  ].map(
    ([one, other]) =>
      `${one.name} (${one.where}) and ${other.name} (${other.where}) would take each other’s place: give each its own`
  )
}

/**
 * @template T
 * @param {T[]} items
 * @returns {[T, T][]} all pairs of items
 */
const pairs = (items) =>
  items.flatMap((one, at) =>
    items.slice(at + 1).map((other) => /** @type {[T, T]} */ ([one, other]))
  )
