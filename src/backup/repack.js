/**
 * Packs of which little is still needed are written anew: their units move into fresh packs, the snapshots are written
 * with the new places, and then the manifests. Until a manifest is replaced, it names what is there.
 */
import { PackWriter } from './pack-writer.js'
import { readUnits } from './materialize.js'
import { encodeSnapshot, placeKey, SnapshotBuilder, unitsOf } from './snapshot-format.js'
import { readSnapshot } from './snapshot-store.js'
import { sha256 } from './staging.js'

/**
 * @typedef {import('./repository.js').Repository} Repository
 * @typedef {import('./repository.js').SnapshotPointer} SnapshotPointer
 * @typedef {import('./snapshot-format.js').Snapshot} Snapshot
 */

/**
 * @param {object} input
 * @param {Repository} input.repository
 * @param {import('./marks.js').Marks} input.marks
 * @param {Set<string>} input.thin - packs that are to go
 * @param {string[]} input.generations - names of all that stay
 * @param {string} input.scratchFolder
 * @returns {Promise<number>} bytes that were written anew
 */
export async function repack({ repository, marks, thin, generations, scratchFolder }) {
  const { target } = repository
  const packs = new PackWriter({ target, scratchFolder })
  try {
    /** @type {Map<string, SnapshotPointer>} by account and the old hash */
    const moved = new Map()
    for (const [accountId, pointers] of marks.snapshots) {
      /** @type {Map<string, { pack: string, offset: number }>} */
      const places = new Map()
      for (const pointer of pointers.values()) {
        const snapshot = await readSnapshot(target, pointer)
        if (!thin.has(pointer.pack) && !snapshot.packs.some((pack) => thin.has(pack))) continue
        await moveUnits({ target, packs, snapshot, thin, places })
        moved.set(`${accountId} ${pointer.sha256}`, await rewrite(packs, snapshot, places))
      }
    }
    if (moved.size === 0) return 0
    await packs.flush()
    for (const name of generations) {
      const generation = await repository.readGeneration(name)
      const accounts = generation.accounts.map((entry) => {
        const snapshot = moved.get(`${entry.id} ${entry.snapshot.sha256}`)
        return snapshot ? { ...entry, snapshot } : entry
      })
      await repository.writeGeneration({ ...generation, accounts })
    }
    return packs.bytes
  } finally {
    await packs.abort()
  }
}

/**
 * @param {object} input
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {PackWriter} input.packs
 * @param {Snapshot} input.snapshot
 * @param {Set<string>} input.thin
 * @param {Map<string, { pack: string, offset: number }>} input.places - of the account; grows
 */
async function moveUnits({ target, packs, snapshot, thin, places }) {
  const waiting = new Set()
  const units = [...unitsOf(snapshot)].filter((unit) => {
    const key = placeKey(unit)
    if (!thin.has(unit.pack) || places.has(key) || waiting.has(key)) return false
    waiting.add(key)
    return true
  })
  for await (const { unit, bytes } of readUnits(target, units))
    places.set(placeKey(unit), await packs.add(bytes))
}

/**
 * @param {PackWriter} packs
 * @param {Snapshot} snapshot
 * @param {Map<string, { pack: string, offset: number }>} places
 * @returns {Promise<SnapshotPointer>}
 */
async function rewrite(packs, snapshot, places) {
  const builder = new SnapshotBuilder()
  /** @type {import('./snapshot-format.js').SnapshotFile | null} */
  let file = null
  for (const unit of unitsOf(snapshot)) {
    if (unit.file !== file) builder.startFile((file = unit.file))
    builder.addUnit(unit.hash, places.get(placeKey(unit)) ?? unit)
  }
  const bytes = encodeSnapshot(builder.finish(snapshot))
  return {
    ...(await packs.add(bytes)),
    size: bytes.length,
    sha256: sha256(bytes).toString('hex')
  }
}
