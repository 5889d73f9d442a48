/**
 * What both jobs that give space back (release.js, vacuum.js) look at first.
 */

/** @typedef {import('../../store/upkeep/space.js').Space} Space */

/** If fewer bytes than this were given back, nobody would notice. */
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
