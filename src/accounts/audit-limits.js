/**
 * How far the audit log looks back, by the settings.
 */

/**
 * @typedef {object} AuditLimits
 * @property {number} days
 * @property {number} maxEvents
 * @property {number} [deletionDays] - deletions of accounts stay for so long whatever the other two say, because the
 *   backups are told by them whose keys are to go; default: 0
 */

/** Backups may fail for a while, days. */
const LATE_ERASURE_DAYS = 90

/**
 * @param {Pick<import('../../config/load.js').Config, 'audit' | 'backup'>} config
 * @returns {AuditLimits}
 */
export const auditLimitsOf = ({ audit, backup }) => ({
  ...audit,
  deletionDays: backup.eraseDeletedAfterDays + LATE_ERASURE_DAYS
})
