/**
 * What macOS keeps of a file beside it, in archives and on disks of other systems (AppleDouble): `._1.eml` beside `1.eml`.
 */

/**
 * @param {string} name - of a file, or its path
 * @returns {boolean} whether it is such a companion, which is no mail whatever its name ends in
 */
export const isAppleDouble = (name) => /(^|\/)\._[^/]*$/.test(name)
