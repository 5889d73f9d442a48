/**
 * The links by which other workers tell this one what they do not wait for. Where a link ends and its worker lives, that worker
 * has given this one up for a while, because it hung: what was told between that link and the next went nowhere. A link that ends
 * may be noticed before the next one begins, or after.
 */

/** Says when something may have been missed. */
export class HeardLinks {
  #onMissed
  /** @type {Map<string, number>} links that are there, by the path of their worker */
  #links = new Map()
  /** @type {Set<string>} paths of workers that had a link and have none now; one that has died leaves its path here */
  #unheard = new Set()

  /** @param {() => void} onMissed - a worker that has another link now may have told something in vain */
  constructor(onMissed) {
    this.#onMissed = onMissed
  }

  /** @param {string} path - of the worker that has made a link to this one */
  begin(path) {
    this.#links.set(path, (this.#links.get(path) ?? 0) + 1)
    if (this.#unheard.delete(path)) this.#onMissed()
  }

  /** @param {string} path - of the worker whose link has ended */
  end(path) {
    const left = (this.#links.get(path) ?? 1) - 1
    if (left > 0) {
      this.#links.set(path, left)
      this.#onMissed()
    } else {
      this.#links.delete(path)
      this.#unheard.add(path)
    }
  }
}
