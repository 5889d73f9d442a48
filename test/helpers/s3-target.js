/**
 * A place of backups in object storage, as tests open it.
 */
import { openS3Target } from '../../src/backup/targets/s3.js'
import { S3_ENVIRONMENT } from './s3-server.js'

Object.assign(process.env, S3_ENVIRONMENT)

/**
 * @param {string} endpoint
 * @param {Partial<import('../../src/backup/targets/s3.js').S3Settings>} [other]
 */
export const s3At = (endpoint, other = {}) =>
  openS3Target({
    bucket: 'backups',
    endpoint,
    prefix: 'host-1/',
    region: 'us-east-1',
    isPathStyle: true,
    bytesPerSecond: 0,
    ...other
  })

/**
 * @param {AsyncIterable<import('../../src/backup/targets/target.js').StoredObject>} objects
 */
export async function listed(objects) {
  const all = []
  for await (const object of objects) all.push(object)
  return all
}
