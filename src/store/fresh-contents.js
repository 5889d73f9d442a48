/**
 * The contents that have come last, of all mailboxes of the process. A mail program that waits for mail asks for the header
 * of what has come within milliseconds: then it need not be read from the file again.
 */

/** @typedef {import('./staged-content.js').StagedContent} StagedContent */

/** So few that of much mail hardly any outlives the next collection of what is young. */
const MAX_KEPT = 16

/** What they take in memory, bytes. */
const MAX_KEPT_BYTES = 1024 * 1024

/**
 * Oldest first.
 *
 * @type {{ owner: object, contentId: number, content: StagedContent, bytes: number }[]}
 */
const kept = []
let keptBytes = 0

/**
 * @param {object} owner - stands for the mailbox
 * @param {number} contentId
 * @param {StagedContent} content
 */
export function keepFresh(owner, contentId, content) {
  const bytes = content.heldBytes
  kept.push({ owner, contentId, content, bytes })
  keptBytes += bytes
  while (kept.length > MAX_KEPT || keptBytes > MAX_KEPT_BYTES) drop(0)
}

/**
 * @param {object} owner
 * @param {number} contentId
 * @returns {StagedContent | null} which is kept no longer; null when it is not here
 */
export function takeFresh(owner, contentId) {
  const at = kept.findIndex((entry) => entry.contentId === contentId && entry.owner === owner)
  return drop(at)?.content ?? null
}

/**
 * To be called when the mailbox is closed.
 *
 * @param {object} owner
 */
export function forgetFresh(owner) {
  for (let at = kept.length - 1; at >= 0; at--) if (kept[at]?.owner === owner) drop(at)
}

/** @param {number} at - of an entry; -1: of none */
function drop(at) {
  const [entry] = at < 0 ? [] : kept.splice(at, 1)
  keptBytes -= entry?.bytes ?? 0
  return entry
}
