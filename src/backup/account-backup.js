/**
 * One account into the packs of a run: read, accepted, and then packed.
 */
import { isMailError } from '../errors.js'
import { copyMailbox } from './copy-mailbox.js'
import { KnownUnits } from './known-units.js'
import { SnapshotBuilder, unitsOf } from './snapshot-format.js'
import { readSnapshot, writeSnapshot } from './snapshot-store.js'

/**
 * @typedef {import('./repository.js').AccountEntry} AccountEntry
 * @typedef {import('./snapshot-format.js').Snapshot} Snapshot
 * @typedef {import('./staging.js').StagedFile} StagedFile
 *
 * @typedef {object} RunParts - what the accounts of a run share
 * @property {import('./targets/target.js').BackupTarget} target
 * @property {import('./pack-writer.js').PackWriter} packs
 * @property {import('./staging.js').Staging} staging
 * @property {import('./stored-objects.js').StoredObjects} stored - by earlier runs
 * @property {string} runFolder
 * @property {string} scratchFolder
 * @property {import('../support/clock.js').Clock} clock
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {(bytes: number) => void} onRead
 *
 * @typedef {object} AccountResult
 * @property {AccountEntry} entry - without `keys`; stands once the packs are flushed
 * @property {string[]} packs - that the entry needs
 * @property {number} newBytes - that were not stored yet
 * @property {number} sharedBytes - that were
 */

/** After so many new bytes of one mailbox, `onSave` notes what is packed for a later run, should this one die. */
const SAVE_EVERY_BYTES = 512 * 1024 * 1024

/**
 * @param {RunParts} parts
 * @param {object} input
 * @param {import('../accounts/directory-port.js').Account} input.account
 * @param {AccountEntry | null} input.previous - of the last backup
 * @param {AccountEntry | null} input.partial - of a run that was not finished; may be of a part of the mailbox
 * @param {(entry: AccountEntry) => Promise<void>} input.onSave - a part of the mailbox is packed
 * @returns {Promise<AccountResult>}
 */
export async function backUpAccount(parts, { account, previous, partial, onSave }) {
  const { packs, staging, clock, stored } = parts
  const before = previous && (await readIfWhole(parts, previous))
  const unfinished = partial && (await readIfWhole(parts, partial))
  const known = new KnownUnits(
    [before, unfinished].filter((snapshot) => snapshot !== null),
    (unit) => stored.hasUnit(unit)
  )
  const isBeforeStored = before !== null && stored.hasSnapshot(before)
  await staging.rewind()
  const copiedAtMs = clock.nowMs()
  const copy = await copyMailbox({
    account,
    known,
    // If anything that was stored of it is lost, an unchanged mailbox must be read again.
    previousStamp: isBeforeStored && previous ? previous.stamp : null,
    ...parts
  })

  const { keyEpoch, cipher, id } = account
  const facts = { accountId: id, keyEpoch, cipher }
  const builder = new SnapshotBuilder()
  const result = { newBytes: 0, sharedBytes: 0 }
  const entryOf = async (/** @type {Snapshot} */ snapshot) => ({
    id,
    keyEpoch,
    snapshot: await writeSnapshot(packs, snapshot, previous?.snapshot ?? null),
    keys: '',
    bytes: snapshot.files.reduce((sum, { size }) => sum + size, 0),
    copiedAtMs,
    stamp: copy.stamp
  })

  let savedBytes = 0
  const staged = [...copy.spool, ...(copy.mailbox ?? [])]
  /** @type {StagedFile | null} */
  let file = null
  for await (const unit of staging.units(staged)) {
    while (file !== unit.file) file = startNext(builder, staged, file)
    const stored = known.find(unit.hash, unit.length)
    if (!stored && !unit.bytes) throw new TypeError('A unit is neither staged nor stored')
    const place = stored ?? (await packs.add(/** @type {Buffer} */ (unit.bytes)))
    if (!stored) known.add(unit.hash, unit.length, place)
    result[stored ? 'sharedBytes' : 'newBytes'] += unit.length
    builder.addUnit(unit.hash, place)
    if (result.newBytes - savedBytes < SAVE_EVERY_BYTES) continue
    savedBytes = result.newBytes
    await onSave({ ...(await entryOf(builder.finishPart(facts))), stamp: null })
  }
  while (file !== (staged.at(-1) ?? null)) file = startNext(builder, staged, file)
  if (!copy.mailbox && before) {
    addMailboxOf(builder, before)
    result.sharedBytes += before.files
      .filter(({ path }) => !path.startsWith('spool/'))
      .reduce((sum, { size }) => sum + size, 0)
  }
  const snapshot = builder.finish(facts)
  const entry = await entryOf(snapshot)
  // The stamp of an unchanged mailbox, with a pointer that may be the old one.
  return { ...result, entry, packs: [...snapshot.packs, entry.snapshot.pack] }
}

/**
 * @param {SnapshotBuilder} builder
 * @param {StagedFile[]} staged
 * @param {StagedFile | null} file - the last one that was started
 * @returns {StagedFile} the next, started; an empty file has no unit that would do it
 */
function startNext(builder, staged, file) {
  const next = /** @type {StagedFile} */ (staged[file ? staged.indexOf(file) + 1 : 0])
  builder.startFile({ path: next.path, size: next.size })
  return next
}

/**
 * @param {SnapshotBuilder} builder
 * @param {Snapshot} snapshot
 */
function addMailboxOf(builder, snapshot) {
  let started = ''
  for (const unit of unitsOf(snapshot, ({ path }) => !path.startsWith('spool/'))) {
    if (unit.file.path !== started) builder.startFile(unit.file)
    started = unit.file.path
    builder.addUnit(unit.hash, unit)
  }
}

/**
 * @param {RunParts} parts
 * @param {AccountEntry} entry
 * @returns {Promise<Snapshot | null>} null where the target no longer gives it: then everything is stored again
 */
async function readIfWhole({ target, logger }, entry) {
  try {
    return await readSnapshot(target, entry.snapshot)
  } catch (err) {
    if (!isMailError(err, 'BACKUP_DAMAGED')) throw err
    logger.error({ err, accountId: entry.id }, 'a snapshot is damaged; the account is stored anew')
    return null
  }
}
