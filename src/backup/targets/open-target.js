/**
 * The target that the configuration names.
 */
import { proxyEnvironment } from '../../../config/load.js'
import { openFolderTarget } from './folder.js'

/**
 * @param {import('../../../config/load.js').Config['backup']} config
 * @param {import('./patience.js').Patience} [patience] - with object storage that is away; default: none
 * @returns {Promise<import('./target.js').BackupTarget>}
 */
export async function openTarget({ folder, s3, networkBytesPerSecond }, patience) {
  if (s3.bucket === '') return openFolderTarget(folder)
  // Loaded only here: the client is larger than the rest of the program.
  const { openS3Target } = await import('./s3.js')
  const { bucket, endpoint, region, isPathStyle } = s3
  const prefix = s3.prefix === '' || s3.prefix.endsWith('/') ? s3.prefix : `${s3.prefix}/`
  const bytesPerSecond = networkBytesPerSecond
  const proxies = proxyEnvironment()
  const place = { bucket, prefix, endpoint, region, isPathStyle }
  return openS3Target({ ...place, bytesPerSecond, proxies, ...(patience && { patience }) })
}
