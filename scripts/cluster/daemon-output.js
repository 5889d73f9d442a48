/**
 * Loaded by PM2's daemon before its own code. Its log lies in the data folder: where nothing can be written there, on a full
 * disk for instance, it would end at the next thing that it has to say, and all workers with it. PM2 has the app of the
 * nightly backup load it, too, which waits for what it writes.
 */
import { writeSync } from 'node:fs'

for (const stream of [process.stdout, process.stderr]) {
  const { fd } = stream
  stream.write = (/** @type {string | Uint8Array} */ text, /** @type {any[]} */ ...rest) => {
    try {
      writeSync(fd, Buffer.from(text))
    } catch {
      // There is nowhere to say so; the next line may find room again.
    }
    const written = rest.at(-1)
    if (typeof written === 'function') process.nextTick(written)
    return true
  }
}
