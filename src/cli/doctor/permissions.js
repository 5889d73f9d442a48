/**
 * Whose the files of the data folder are, and who else may read its secrets.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { KEY_FILE } from '../../support/certificates.js'
import { bad, doubtful, good } from './finding.js'

/** @import { Finding } from './finding.js' */
/** @typedef {import('../../../config/load.js').Config} Config */

const NAME = 'permissions'
const ROOT = 0

/** Permissions that the owner needs, of files and of folders. */
const OWN_FILE = 0o600
const OWN_FOLDER = 0o700

/** @typedef {{ mask: number, chmod: string }} Closed - permissions that only the owner may have, and how to take them away */

/** @type {Closed} */
const ALL_OTHERS = { mask: 0o077, chmod: 'go=' }
/**
 * For the key that an ACME client keeps, which is root's: the server reads it by its group. Whether it can is found out by
 * `checkCertificates`.
 *
 * @type {Closed}
 */
const ALL_BUT_READERS = { mask: 0o037, chmod: 'g-wx,o=' }

/**
 * At most so many files are looked at, which takes some seconds: a command that another user ran has left traces in few
 * mailboxes or in all.
 */
const MAX_LOOKS = 50_000

/**
 * @param {string} path
 * @returns {Promise<import('node:fs').Stats | null>}
 */
const exists = (path) => stat(path).catch(() => null)

/**
 * @param {Config} config
 * @param {{ maxLooks?: number }} [options] - at most so many files of the data folder are looked at
 * @returns {Promise<Finding[]>}
 */
export async function checkPermissions(config, { maxLooks = MAX_LOOKS } = {}) {
  const { data, auth, tls } = config
  const uid = process.getuid?.() ?? ROOT
  const folder = await exists(data)
  const kept = tls.otherFolders.map((name) => join(name, KEY_FILE))
  if (tls.key !== '') kept.push(tls.key)
  const { others, isWhole } = folder
    ? await ownedByOthers(config, { owner: folder.uid, pepperFile: auth.pepperFile, maxLooks })
    : { others: [], isWhole: true }
  const findings = [
    ...(folder && folder.uid !== uid && uid !== ROOT ? [otherUser(data, folder.uid, uid)] : []),
    ...(await openToOthers([data, join(data, 'directory.db'), auth.pepperFile])),
    ...(tls.key === '' ? await openToOthers([join(data, 'tls', 'key.pem')]) : []),
    ...(await openToOthers(kept, ALL_BUT_READERS)),
    ...others
  ]
  const sound = isWhole
    ? 'Data, directory, mailboxes, pepper and key are for one user alone'
    : `Directory, pepper, key and the first ${maxLooks} files of the data folder are for one user alone; there are more`
  if (findings.length === 0) findings.push(good(NAME, sound))
  if (uid === ROOT && (folder?.uid ?? ROOT) === ROOT)
    findings.push(
      doubtful(
        'user',
        'This is root, and the data folder is root’s',
        'Give the server a user of its own; for ports below 1024 see docs/operations.md'
      )
    )
  return findings
}

/**
 * @param {string} data
 * @param {number} owner
 * @param {number} uid - this process's user
 */
const otherUser = (data, owner, uid) =>
  bad(
    NAME,
    `${data} belongs to user ${owner}, and this runs as user ${uid}`,
    'Run this as that user, or as root'
  )

/**
 * @param {string[]} secrets
 * @param {Closed} [closed]
 * @returns {Promise<Finding[]>}
 */
async function openToOthers(secrets, { mask, chmod } = ALL_OTHERS) {
  /** @type {Finding[]} */
  const findings = []
  for (const path of secrets) {
    const mode = (await exists(path))?.mode ?? 0
    if ((mode & mask) === 0) continue
    const text = `${path} is open to others (${(mode & 0o777).toString(8)})`
    findings.push(bad(NAME, text, `chmod ${chmod} ${path}`))
  }
  return findings
}

/**
 * @param {Config} config
 * @param {object} what
 * @param {number} what.owner - of the data folder
 * @param {string} what.pepperFile - may lie outside of the data folder
 * @param {number} what.maxLooks
 * @returns {Promise<{ others: Finding[], isWhole: boolean }>} one for all files of other users, and one for the first file that
 *   its owner cannot use; `isWhole`: every file was looked at
 */
async function ownedByOthers({ data }, { owner, pepperFile, maxLooks }) {
  /** @type {{ path: string, uid: number } | null} */
  let first = null
  /** @type {Finding | null} */
  let closed = null
  let count = 0
  let looks = 0
  for await (const path of filesOf(data, pepperFile)) {
    if (++looks > maxLooks) break
    const found = await exists(path)
    if (!found) continue
    if (found.uid !== owner) {
      first ??= { path, uid: found.uid }
      count++
    } else closed ??= closedToOwner(path, found)
  }
  const others = [
    ...(first ? [othersFinding(data, owner, { ...first, count })] : []),
    ...(closed ? [closed] : [])
  ]
  return { others, isWhole: looks <= maxLooks }
}

/**
 * @param {string} path
 * @param {import('node:fs').Stats} stats
 * @returns {Finding | null}
 */
function closedToOwner(path, stats) {
  const needed = stats.isDirectory() ? OWN_FOLDER : OWN_FILE
  if (!(stats.isDirectory() || stats.isFile()) || (stats.mode & needed) === needed) return null
  const text = `${path} has mode ${(stats.mode & 0o777).toString(8)}: its owner cannot use it`
  return bad(NAME, text, `chmod u+rw${stats.isDirectory() ? 'x' : ''} ${path}`)
}

/**
 * @param {string} data
 * @param {number} owner - of the data folder
 * @param {{ path: string, uid: number, count: number }} first - the first of `count` files
 * @returns {Finding}
 */
function othersFinding(data, owner, first) {
  const { count } = first
  const others = count === 1 ? '' : `, and ${count - 1} more files belong to others`
  const text = `${first.path} belongs to user ${first.uid}, the data folder to user ${owner}${others}`
  const isWithin = first.path.startsWith(join(data, '/'))
  const target = isWithin ? `-R ${owner} ${data}` : `${owner} ${first.path}`
  return bad(NAME, text, `The server cannot use what is not its own: chown ${target}`)
}

/**
 * @param {string} data
 * @param {string} pepperFile
 * @returns {AsyncGenerator<string, void, void>} files and folders of the data folder, without what is in the spools; the
 *   mailboxes last
 */
async function* filesOf(data, pepperFile) {
  if (!pepperFile.startsWith(join(data, '/'))) yield pepperFile
  yield* within(data)
  for (const name of ['run', 'tls', 'tmp']) yield* within(join(data, name))
  for await (const domain of within(join(data, 'mail'))) {
    yield domain
    for await (const folder of within(domain)) {
      yield folder
      yield* within(folder)
    }
  }
}

/**
 * @param {string} folder
 * @returns {AsyncGenerator<string, void, void>} what is in the folder; nothing where it cannot be read
 */
async function* within(folder) {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) yield join(folder, name)
}
