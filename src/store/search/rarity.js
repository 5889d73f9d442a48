/**
 * Which pieces of a word are likely to be rare: a guess that only decides what is asked first.
 */

/** Letters of European languages from the commonest on; what is not here counts as rarer. */
const COMMONEST = 'etaoinsrhldcumfpgwybvkxjqz'

/**
 * @param {string} piece
 * @returns {number} higher for a rarer one
 */
function rarityOf(piece) {
  let rarity = 0
  for (const letter of piece) {
    const place = COMMONEST.indexOf(letter)
    rarity += place === -1 ? COMMONEST.length : place
  }
  return rarity
}

/**
 * @param {string[]} pieces - put in order
 * @returns {string[]} the same
 */
export const rarestFirst = (pieces) =>
  pieces.sort((left, right) => rarityOf(right) - rarityOf(left))
