/**
 * What STORE makes of the flags of any message, as four words: the same numbers serve SQL and the views.
 */

/**
 * @typedef {import('./flags.js').FlagWords} FlagWords
 * @typedef {'set' | 'add' | 'remove'} FlagAction
 *
 * @typedef {object} FlagMasks - of the old words those bits stay that are in `keep`, and those in `put` are added
 * @property {number} keepFlags
 * @property {number} putFlags
 * @property {number} keepKeywords
 * @property {number} putKeywords
 */

const ALL = 0xffffffff

/**
 * @param {FlagAction} action
 * @param {FlagWords} words - of the flags that are named
 * @returns {FlagMasks}
 */
export function masksOf(action, { flags, keywords }) {
  switch (action) {
    case 'set':
      return { keepFlags: 0, putFlags: flags, keepKeywords: 0, putKeywords: keywords }
    case 'add':
      return { keepFlags: ALL, putFlags: flags, keepKeywords: ALL, putKeywords: keywords }
    case 'remove':
      return {
        keepFlags: ~flags >>> 0,
        putFlags: 0,
        keepKeywords: ~keywords >>> 0,
        putKeywords: 0
      }
  }
}

/**
 * @param {number} old
 * @param {number} keep
 * @param {number} put
 * @returns {number}
 */
export const masked = (old, keep, put) => ((old & keep) | put) >>> 0
