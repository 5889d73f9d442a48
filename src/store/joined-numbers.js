/**
 * Whole numbers of many rows, as SQLite's group_concat joins them: one text for a column of a page costs less than a value
 * for each row, and JSON.parse reads it faster than a loop does.
 */

/**
 * @param {string | null} text - with commas between the numbers; null for no rows
 * @returns {number[]}
 */
export const numbersIn = (text) => JSON.parse(`[${text ?? ''}]`)
