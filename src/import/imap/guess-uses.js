/**
 * Guesses the uses of the source's folders by their names, in whatever language, where the server does not tell them (RFC 6154).
 * A folder that lies deeper, as `2019/Sent`, holds mail that was put away, and no more is to be filed there.
 */
import { specialUse } from 'imapflow/lib/special-use.js'

/** @typedef {import('./source-connection.js').ListedFolder} ListedFolder */

/**
 * @param {readonly ListedFolder[]} folders - with the uses that the server tells
 * @returns {ListedFolder[]} the same; each other use has one folder whose name tells it, if there is any
 */
export function withGuessedUses(folders) {
  const taken = new Set(folders.map(({ use }) => use))
  const guesses = folders
    .filter(({ use, isSelectable }) => use === null && isSelectable)
    .map((folder) => ({ folder, depth: depthOf(folder.levels), ...guess(folder) }))
    .filter(({ flag, depth }) => flag !== null && depth < Infinity)
    .sort((left, right) => left.depth - right.depth || left.rank - right.rank)
  /** @type {Map<ListedFolder, string>} */
  const uses = new Map()
  for (const { folder, flag } of guesses) {
    if (flag === null || taken.has(flag)) continue
    taken.add(flag)
    uses.set(folder, flag)
  }
  return folders.map((folder) => ({ ...folder, use: folder.use ?? uses.get(folder) ?? null }))
}

/**
 * @param {readonly string[]} levels
 * @returns {number} at the top before those below INBOX, where some servers have all; deeper ones are none
 */
function depthOf([first = '', ...below]) {
  if (below.length === 0) return 0
  return below.length === 1 && first.toUpperCase() === 'INBOX' ? 1 : Infinity
}

/**
 * @param {ListedFolder} folder
 * @returns {{ flag: string | null, rank: number }} `rank`: `Sent` before `Sent Mail`
 */
function guess({ levels }) {
  const { flag, source } = specialUse(false, { name: levels.at(-1) ?? '', flags: new Set() })
  return { flag, rank: source === 'name' ? 0 : 1 }
}
