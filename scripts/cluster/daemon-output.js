/**
 * Loaded by PM2's daemon before its own code. The daemon's log lies in the data folder: where nothing can be written there, on
 * a full disk for instance, the daemon would end at its next line, and all workers with it. PM2 has the app of the nightly
 * backup load this, too; there, callbacks of `write` are waited for.
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
