/**
 * How far the audit log looks back, by the settings.
 */

/**
 * @typedef {object} AuditLimits
 * @property {number} days
 * @property {number} maxEvents
 * @property {number} [deletionDays] - deletions of accounts stay for so long whatever the other two say, because they tell
 *   the backups whose keys are to go; default: 0
 */

/** Deletions stay so many days longer than the backups need them: backups may fail for a while. */
const LATE_ERASURE_DAYS = 90

/**
 * @param {Pick<import('../../config/load.js').Config, 'audit' | 'backup'>} config
 * @returns {AuditLimits}
 */
export const auditLimitsOf = ({ audit, backup }) => ({
  ...audit,
  deletionDays: backup.eraseDeletedAfterDays + LATE_ERASURE_DAYS
})
