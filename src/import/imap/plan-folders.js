/**
 * Plans to which mailbox each folder of the source goes.
 */
import { storedMailboxName } from '../../store/mailbox-name.js'
import { composed } from '../../support/composed.js'

/**
 * @typedef {import('./source-connection.js').ListedFolder} ListedFolder
 *
 * @typedef {object} PlannedFolder
 * @property {string} path - at the source
 * @property {string} mailbox - here
 * @property {string | null} use - such as `\Sent`
 * @property {boolean} isSubscribed
 * @property {number} messages - at the source
 */

/** The uses that mailboxes can have here; folders of others (`\All`, `\Flagged`) are views of the source's own making. */
const KEPT_USES = new Set(['\\Archive', '\\Drafts', '\\Junk', '\\Sent', '\\Trash'])

/** Characters that a level of a name cannot have here: our delimiter, and control characters. */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const IMPOSSIBLE_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029/]/g

/**
 * @param {readonly ListedFolder[]} folders
 * @param {{ exclude?: readonly string[] }} [options] - `exclude`: what is left out, with all below it: paths
 *   at the source, or their levels with '/' between
 * @returns {PlannedFolder[]} INBOX first, then by name; levels that hold no messages are left out
 */
export function planFolders(folders, { exclude = [] } = {}) {
  const rules = exclude.map((name) => excludes(folders, name))
  const isExcluded = (/** @type {ListedFolder} */ folder) => rules.some((rule) => rule(folder))
  /** @type {Set<string>} */
  const taken = new Set()
  /** @type {Set<string>} */
  const usesTaken = new Set()
  const wanted = folders
    .filter((folder) => folder.isSelectable && !isExcluded(folder))
    .map((folder) => ({ folder, name: mailboxName(folder.levels) }))
  // Without any subscription, the user's programs showed all folders there; those that go by subscriptions would show none here.
  const isAllSubscribed = !wanted.some(({ folder, name }) => folder.isSubscribed && rank(name) > 0)
  return wanted
    .sort((left, right) => rank(left.name) - rank(right.name) || (left.name < right.name ? -1 : 1))
    .map(({ folder: { path, use, isSubscribed, messages }, name }) => {
      const mailbox = freeName(name, taken)
      taken.add(mailbox)
      const isUse = use !== null && KEPT_USES.has(use) && !usesTaken.has(use)
      if (isUse) usesTaken.add(use)
      const isShown = isSubscribed || isAllSubscribed
      return { path, mailbox, use: isUse ? use : null, isSubscribed: isShown, messages }
    })
}

/**
 * @param {readonly ListedFolder[]} folders
 * @param {readonly string[]} exclude - as `planFolders` takes them
 * @returns {string[]} those that leave out nothing
 */
export const emptyExcludes = (folders, exclude) =>
  exclude.filter((name) => !folders.some(excludes(folders, name)))

/**
 * @param {readonly ListedFolder[]} folders
 * @param {string} name - what is left out, as a person types it
 * @returns {(folder: ListedFolder) => boolean}
 */
function excludes(folders, name) {
  const typed = storedMailboxName(name)
  const found = folders.find(({ path }) => storedMailboxName(path) === typed)
  const above = found ? comparedName(found) : typed
  return (folder) => `${comparedName(folder)}/`.startsWith(`${above}/`)
}

/**
 * @param {ListedFolder} folder
 * @returns {string} in the spelling in which names that a person types are compared
 */
const comparedName = ({ levels }) => storedMailboxName(levels.join('/'))

/**
 * @param {readonly string[]} levels
 * @returns {string}
 */
function mailboxName(levels) {
  const [first = '', ...rest] = levels.map(
    (level) => composed(level.toWellFormed()).replace(IMPOSSIBLE_CHARACTERS, '_') || '_'
  )
  return [first.toUpperCase() === 'INBOX' ? 'INBOX' : first, ...rest].join('/')
}

/**
 * @param {string} name
 * @param {ReadonlySet<string>} taken
 * @returns {string} the name, or with a number behind it
 */
function freeName(name, taken) {
  let free = name
  for (let number = 2; taken.has(free); number++) free = `${name} (${number})`
  return free
}

/**
 * @param {string} name
 * @returns {number}
 */
function rank(name) {
  return name === 'INBOX' ? 0 : 1
}
