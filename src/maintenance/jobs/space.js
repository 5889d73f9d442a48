/**
 * What both ways of giving space back look at first.
 */

/** @typedef {import('../../store/upkeep/space.js').Space} Space */

/** Below this many free bytes nobody would notice that they are back. */
const WORTHWHILE_BYTES = 1024 * 1024

/**
 * @param {Space} space
 * @param {number} part - 0 to 1
 * @returns {boolean} whether more than that part of the file is free
 */
export function isFreeAbove({ pages, freePages, pageBytes }, part) {
  return freePages > pages * part && freePages * pageBytes >= WORTHWHILE_BYTES
}

/**
 * @param {Space} space
 * @returns {string}
 */
export const freeText = ({ pages, freePages }) =>
  `free ${Math.round((100 * freePages) / Math.max(1, pages))} %`

/**
 * @param {Space} space
 * @returns {{ fileBytes: number, freeBytes: number }}
 */
export function spaceFigures({ pages, freePages, pageBytes }) {
  return { fileBytes: pages * pageBytes, freeBytes: freePages * pageBytes }
}
