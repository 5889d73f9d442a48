/**
 * Mailbox name patterns of LIST and LSUB: `*` is anything, `%` anything without the hierarchy separator
 * (RFC 3501 §6.3.8).
 *
 * All positions of the pattern that fit the name so far go along together, so the time is bounded by the product of the
 * two lengths, however many wildcards there are.
 */

/**
 * @param {string} pattern - reference and mailbox name put together
 * @returns {(name: string) => boolean}
 */
export function compileListPattern(pattern) {
  const exact = collapse(pattern)
  const upper = exact.toUpperCase()
  // INBOX is case-insensitive (RFC 3501 §5.1), as a whole name and as the first level.
  return (name) => {
    if (name === 'INBOX') return matches(upper, name)
    return matches(exact, name)
  }
}

/**
 * @param {string} pattern
 * @returns {string} the same with runs of wildcards reduced to one: `*` takes in its neighbours
 */
function collapse(pattern) {
  return pattern.replace(/[*%]{2,}/g, (run) => (run.includes('*') ? '*' : '%'))
}

/**
 * @param {string} pattern
 * @param {string} name
 * @returns {boolean}
 */
function matches(pattern, name) {
  let positions = closure(pattern, new Set([0]))
  for (const character of name) {
    /** @type {Set<number>} */
    const next = new Set()
    for (let position of positions) {
      const wanted = pattern.codePointAt(position)
      if (wanted === undefined) continue
      const text = String.fromCodePoint(wanted)
      if (text === '*' || (text === '%' && character !== '/')) next.add(position)
      else if (text === character && text !== '%') next.add((position += text.length))
    }
    if (next.size === 0) return false
    positions = closure(pattern, next)
  }
  return positions.has(pattern.length)
}

/**
 * @param {string} pattern
 * @param {Set<number>} positions
 * @returns {Set<number>} with the positions behind wildcards, which may stand for nothing
 */
function closure(pattern, positions) {
  for (const position of positions) {
    const character = pattern[position]
    // A set iterates over what is added meanwhile.
    if (character === '*' || character === '%') positions.add(position + 1)
  }
  return positions
}
