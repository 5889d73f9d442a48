/**
 * @template {Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array} T
 * @param {T} from
 * @param {T} to - of the same kind, at least as long
 * @returns {T} `to`, which begins like `from`
 */
export function grown(from, to) {
  to.set(from)
  return to
}
