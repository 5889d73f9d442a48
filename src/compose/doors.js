/**
 * The sockets at which each of the servers can be reached, as the settings say.
 */
import { MailError } from '../errors.js'
import { parseListenAddress } from '../support/listen-address.js'
import { ProxyTrust } from '../support/proxy-header.js'
import { requireFolderOf } from '../support/unix-socket.js'

/** @import { Config } from '../../config/load.js' */

/** @import { ListenAddress } from '../support/listen-address.js' */

/** @typedef {(where: ListenAddress) => Promise<ListenAddress>} Listen - resolves with what was bound */

/**
 * @typedef {object} Servers
 * @property {import('../imap/session/listener.js').ImapServer} imap
 * @property {import('../delivery/lmtp.js').LmtpServer} lmtp
 * @property {import('../admin/create.js').Admin} admin
 * @property {import('../sasl/auth-server.js').AuthServer} sasl
 * @property {import('../user-page/create.js').UserPage | null} userPage - null: it is off
 * @property {import('../discovery/server.js').DiscoveryServer | null} discovery - null: it is off
 */

/**
 * @typedef {object} ListenerInfo
 * @property {'imap' | 'imaps' | 'lmtp' | 'admin' | 'userPage' | 'discovery'} name
 * @property {string} host
 * @property {number} port
 * @property {string} note - what speaks there
 */

/**
 * @template Bound
 * @param {string} setting - the name of the setting that says where
 * @param {string} place - its value, for the operator
 * @param {() => Promise<Bound>} listen
 * @returns {Promise<Bound>}
 * @throws {MailError} CONFIG_INVALID, ADDRESS_IN_USE
 */
async function bind(setting, place, listen) {
  try {
    return await listen()
  } catch (cause) {
    if (cause instanceof MailError) throw cause
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
    if (code === 'EADDRINUSE')
      throw new MailError('ADDRESS_IN_USE', { detail: `${setting}: ${place}`, cause })
    throw new MailError('CONFIG_INVALID', {
      detail: `${setting} cannot listen on ${place}: ${code ?? 'unknown'}`,
      cause
    })
  }
}

/**
 * @param {Config} config
 * @param {Servers} servers
 * @returns {Promise<ListenerInfo[]>} as bound, in the order of the names above
 * @throws {MailError} CONFIG_INVALID, ADDRESS_IN_USE where one cannot be bound; those before it listen
 */
export async function openDoors(config, { imap, lmtp, admin, sasl, userPage, discovery }) {
  /** @type {ListenerInfo[]} */
  const listeners = []
  const open = async (
    /** @type {ListenerInfo['name']} */ name,
    /** @type {string} */ note,
    /** @type {Listen} */ listen
  ) => {
    const where = parseListenAddress(config[name].listen)
    if (where === null) return
    const place = `${where.host}:${where.port}`
    const bound = await bind(`${name}.listen`, place, () => listen(where))
    listeners.push({ name, note, ...bound })
  }
  const trust = new ProxyTrust(config.proxy.trustedAddresses)
  const proxyOf = (/** @type {'imap' | 'imaps' | 'lmtp' | 'userPage'} */ name) =>
    config[name].isProxied ? trust : null

  await open('imap', 'STARTTLS', (where) =>
    imap.listen({ ...where, isImplicitTls: false, proxy: proxyOf('imap') })
  )
  await open('imaps', 'TLS', (where) =>
    imap.listen({ ...where, isImplicitTls: true, proxy: proxyOf('imaps') })
  )
  await open('lmtp', 'delivery', (where) => lmtp.listen({ ...where, proxy: proxyOf('lmtp') }))
  await open('admin', admin.note, (where) => admin.listen(where))
  const { socket } = config.admin
  if (socket !== '')
    await bind('admin.socket', socket, async () => {
      await requireFolderOf('admin.socket', socket)
      return await admin.listenOnSocket(socket)
    })
  if (config.sasl.socket !== '') await sasl.listen()
  if (userPage !== null)
    await open('userPage', 'page for users over HTTPS', (where) =>
      userPage.listen({ ...where, proxy: proxyOf('userPage') })
    )
  if (discovery !== null)
    await open('discovery', 'settings of mail programs', (where) => discovery.listen(where))
  if (listeners.length === 0 && socket === '' && config.sasl.socket === '')
    throw new MailError('CONFIG_INVALID', { detail: 'every listener is off: nobody could connect' })
  return listeners
}
