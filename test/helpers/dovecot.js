/**
 * A Dovecot of one's own on loopback, where it is installed (Debian: dovecot-imapd, 2.3) and may be started: it changes
 * its user, so it needs root.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.js'

const PROGRAM = '/usr/sbin/dovecot'

/** Owner of the mail; it needs no entry in /etc/passwd. */
const MAIL_UID = 5000

/** @returns {string} such as `2.3.19.1`, '' where it is not installed */
function version() {
  if (!existsSync(PROGRAM)) return ''
  return /^\d[\d.]*/.exec(spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout)?.[0] ?? ''
}

/**
 * For the `skip` option of a test: false when it can be run, else why not.
 *
 * @type {false | string}
 */
export const dovecotIsMissing = (() => {
  const found = version()
  if (!found.startsWith('2.3.')) return 'Dovecot 2.3 (Debian: dovecot-imapd) is not installed'
  return process.getuid?.() === 0 ? false : 'Dovecot can be started by root only'
})()

/**
 * Every name logs in with the password `pass`.
 *
 * @param {import('node:test').TestContext} t - it ends with the test
 * @returns {Promise<{ port: number }>}
 */
export async function startDovecot(t) {
  // Dovecot's processes of other users must reach the folder.
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-dovecot-'))
  chmodSync(folder, 0o755)
  const mail = join(folder, 'mail')
  mkdirSync(mail)
  chownSync(mail, MAIL_UID, MAIL_UID)
  const port = await freePort()
  const config = join(folder, 'dovecot.conf')
  writeFileSync(config, configOf({ folder, mail, port }))
  const child = spawn(PROGRAM, ['-F', '-c', config], { stdio: 'ignore' })
  const closed = once(child, 'close')
  t.after(async () => {
    child.kill('SIGTERM')
    await closed
    rmSync(folder, { recursive: true, force: true })
  })
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error('Dovecot did not start')
    await sleep(50)
  }
  return { port }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
async function answers(port) {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'data')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/**
 * @param {{ folder: string, mail: string, port: number }} places
 * @returns {string}
 */
function configOf({ folder, mail, port }) {
  return `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/dovecot.log
listen = 127.0.0.1
protocols = imap
ssl = no
disable_plaintext_auth = no
mail_location = mdbox:~/mdbox
mail_home = ${mail}/%u
mail_uid = ${MAIL_UID}
mail_gid = ${MAIL_UID}
first_valid_uid = 500
mail_max_userip_connections = 100
passdb {
  driver = static
  args = password=pass
}
userdb {
  driver = static
  args = uid=${MAIL_UID} gid=${MAIL_UID} home=${mail}/%u
}
namespace inbox {
  inbox = yes
  separator = .
  mailbox Gesendet {
    auto = create
    special_use = \\Sent
  }
  mailbox Trash {
    auto = subscribe
    special_use = \\Trash
  }
}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${port}
  }
}
service stats {
  process_limit = 1
}
`
}
