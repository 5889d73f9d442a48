/**
 * Loaded by PM2's daemon before its own code. Its log lies in the data folder: where nothing can be written there, on a full
 * disk for instance, it would end at the next thing that it has to say, and all workers with it.
 */
import { writeSync } from 'node:fs'

for (const stream of [process.stdout, process.stderr]) {
  const { fd } = stream
  stream.write = (/** @type {string | Uint8Array} */ text) => {
    try {
      writeSync(fd, Buffer.from(text))
    } catch {
      // There is nowhere to say so; the next line may find room again.
    }
    return true
  }
}
