/**
 * @param {unknown} error
 * @returns {boolean} whether this process, or the system, has no file descriptor left: that says nothing about what was to be
 *   opened
 */
export const lacksDescriptors = (error) =>
  ['EMFILE', 'ENFILE'].includes(/** @type {{ code?: string } | null} */ (error)?.code ?? '')
