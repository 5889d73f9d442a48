/**
 * A private Dovecot 2.3 on loopback, for comparison: own configuration, own ports, own folder, gone afterwards.
 *
 * Two profiles: `plain` is mdbox, `crypt` is mdbox with mail_crypt and zstd, which does the same kind of work as
 * Letterlock. Default fsync: APPEND and LMTP are synced, flag changes are not. Passwords are plain text in its file.
 */
import { execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { generate } from 'selfsigned'

/**
 * @typedef {import('./letterlock-server.js').RunningServer} RunningServer
 * @typedef {'plain' | 'crypt'} Profile
 */

const BINARY = '/usr/sbin/dovecot'
const LMTP = '/usr/lib/dovecot/lmtp'

/** Owner of the mail; it needs no entry in /etc/passwd. */
const MAIL_UID = 5000

/** So many connections, and processes, are more than 1,000 idle sessions and a login storm need. */
const CLIENT_LIMIT = 20_000
const PROCESS_LIMIT = 6000

/** @returns {string | null} why Dovecot cannot be measured here; null if it can */
export function whyNoDovecot() {
  if (!existsSync(BINARY)) return 'dovecot-imapd is not installed'
  if (!existsSync(LMTP)) return 'dovecot-lmtpd is not installed'
  if (process.getuid?.() !== 0) return 'Dovecot’s login processes need root to start'
  return null
}

/** @returns {string} */
export const dovecotVersion = () => execFileSync(BINARY, ['--version'], { encoding: 'utf8' }).trim()

/**
 * Dovecot's processes give up root, so every folder above theirs must let others through.
 *
 * @param {string} scratch
 * @returns {string} a new folder, in the scratch folder if that is possible
 */
function makeBase(scratch) {
  chmodSync(scratch, 0o755)
  let folder = scratch
  while (folder !== dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) {
      const other = [tmpdir(), '/tmp', '/var/tmp'].find((place) => (statSync(place).mode & 1) === 1)
      return mkdtempSync(join(other ?? '/tmp', 'letterlock-dovecot-'))
    }
    folder = dirname(folder)
  }
  return mkdtempSync(join(scratch, 'dovecot-'))
}

/** @returns {Promise<number>} a port of loopback that was free a moment ago */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  await once(server, 'close')
  return port
}

/**
 * @param {object} facts
 * @param {string} facts.base
 * @param {Profile} facts.profile
 * @param {RunningServer['ports']} facts.ports
 */
function configuration({ base, profile, ports }) {
  const plugins = profile === 'crypt' ? 'mail_crypt zlib' : ''
  const pluginSettings =
    profile === 'crypt'
      ? [
          `mail_crypt_global_private_key = <${base}/crypt.pem`,
          `mail_crypt_global_public_key = <${base}/crypt-public.pem`,
          'mail_crypt_save_version = 2',
          'zlib_save = zstd',
          'zlib_save_level = 3'
        ]
      : []
  const wide = `client_limit = ${CLIENT_LIMIT}`
  const database = `driver = passwd-file\n args = username_format=%n ${base}/users`
  return `base_dir = ${base}/run
state_dir = ${base}/state
log_path = ${base}/dovecot.log
listen = 127.0.0.1
protocols = imap lmtp
ssl = yes
ssl_cert = <${base}/cert.pem
ssl_key = <${base}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_username_format = %Ln
auth_cache_size = 10M
default_vsz_limit = 2G
default_process_limit = ${PROCESS_LIMIT}
default_client_limit = ${CLIENT_LIMIT}
mail_location = mdbox:~/mdbox
mail_home = ${base}/mail/%n
mail_uid = ${MAIL_UID}
mail_gid = ${MAIL_UID}
first_valid_uid = 500
mail_plugins = ${plugins}
mail_max_userip_connections = ${CLIENT_LIMIT}
passdb {
 ${database}
}
userdb {
 ${database}
}
namespace inbox {
 inbox = yes
 separator = /
}
plugin {
 ${pluginSettings.join('\n ')}
}
service imap-login {
 service_count = 0
 process_min_avail = 2
 process_limit = 4
 client_limit = ${PROCESS_LIMIT}
 chroot =
 inet_listener imap {
  port = ${ports.imap}
 }
 inet_listener imaps {
  port = ${ports.imaps}
  ssl = yes
 }
}
service imap {
 process_limit = ${PROCESS_LIMIT}
 service_count = 100
}
service lmtp {
 inet_listener lmtp {
  port = ${ports.lmtp}
 }
}
service anvil {
 ${wide}
}
service auth {
 ${wide}
}
service stats {
 unix_listener stats-writer {
  mode = 0666
 }
 ${wide}
}
`
}

/** @param {string} base */
async function makeKeys(base) {
  const pair = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 })
  writeFileSync(join(base, 'cert.pem'), pair.cert)
  writeFileSync(join(base, 'key.pem'), pair.private)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  writeFileSync(join(base, 'crypt.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(join(base, 'crypt-public.pem'), publicKey.export({ type: 'spki', format: 'pem' }))
}

/**
 * Users u1 … with the password `pass`.
 *
 * @param {object} options
 * @param {Profile} options.profile
 * @param {string} options.scratch
 * @param {number} options.users
 * @returns {Promise<{ base: string, start: () => Promise<RunningServer>, remove: () => void }>}
 */
export async function prepareDovecot({ profile, scratch, users }) {
  const base = makeBase(scratch)
  chmodSync(base, 0o755)
  for (const name of ['run', 'state', 'mail']) mkdirSync(join(base, name), { mode: 0o755 })
  chownSync(join(base, 'mail'), MAIL_UID, MAIL_UID)
  await makeKeys(base)
  const lines = Array.from({ length: users }, (_, index) => {
    const name = `u${index + 1}`
    return `${name}:{PLAIN}pass:${MAIL_UID}:${MAIL_UID}::${base}/mail/${name}::\n`
  })
  writeFileSync(join(base, 'users'), lines.join(''))
  const ports = { imap: await freePort(), imaps: await freePort(), lmtp: await freePort() }
  writeFileSync(join(base, 'dovecot.conf'), configuration({ base, profile, ports }))
  return {
    base,
    start: () => start(base, ports),
    remove: () => rmSync(base, { recursive: true, force: true })
  }
}

/** Dovecot must listen after at most so many ms. */
const START_MS = 10_000

/**
 * @param {string} base
 * @param {RunningServer['ports']} ports
 * @returns {Promise<RunningServer>}
 */
async function start(base, ports) {
  const log = openSync(join(base, 'output.log'), 'a')
  const child = spawn(BINARY, ['-F', '-c', join(base, 'dovecot.conf')], {
    stdio: ['ignore', log, log]
  })
  closeSync(log)
  const closed = once(child, 'close')
  const deadline = performance.now() + START_MS
  for (;;) {
    const isUp = existsSync(join(base, 'run', 'master.pid')) && (await accepts(ports.imap))
    if (isUp) break
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill()
      throw new Error(`Dovecot did not start:\n${readFileSync(join(base, 'output.log'), 'utf8')}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    pid: child.pid ?? 0,
    ports,
    stop: async () => {
      child.kill('SIGTERM')
      await closed
    }
  }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
async function accepts(port) {
  const socket = connect({ host: '127.0.0.1', port })
  return await new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  }).finally(() => socket.destroy())
}
