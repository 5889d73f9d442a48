/**
 * How much room on a disk is too little: what health, and the doctor, go by.
 */

/** Where less of the disk is free than this part, or these bytes, or this part of its files, new mail may soon be refused. */
const WARN = { part: 0.1, bytes: 2e9 }
const FAIL = { part: 0.02, bytes: 256e6 }

/**
 * @param {object} disk
 * @param {number} disk.freeBytes
 * @param {number} disk.totalBytes
 * @param {number} disk.freeFiles
 * @param {number} disk.totalFiles - 0 where the file system knows no such bound
 * @returns {{ status: 'ok' | 'warn' | 'fail', part: number, filesPart: number, hasFewFiles: boolean }} parts: of what is free
 */
export function roomOf({ freeBytes, totalBytes, freeFiles, totalFiles }) {
  const part = freeBytes / totalBytes
  const filesPart = totalFiles > 0 ? freeFiles / totalFiles : 1
  const isBelow = (/** @type {{ part: number, bytes: number }} */ limit) =>
    part < limit.part || freeBytes < limit.bytes || filesPart < limit.part
  const status = isBelow(FAIL) ? 'fail' : isBelow(WARN) ? 'warn' : 'ok'
  return { status, part, filesPart, hasFewFiles: filesPart < WARN.part }
}
