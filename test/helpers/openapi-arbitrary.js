/**
 * Requests made from an OpenAPI document: mostly what the schemas allow, sometimes anything.
 */
import fc from 'fast-check'

/** Values that no schema of ours expects. */
const NONSENSE = fc.oneof(
  fc.constantFrom('', ' ', '\u0000', '../../etc/passwd', "' OR 1=1 --", '%00', '-1', '1e999', '𝒳'),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, true, [], {}, [[]], { toString: 1 })
)

/**
 * @param {any} schema
 * @param {unknown[]} known - values that exist: ids, addresses
 * @returns {fc.Arbitrary<unknown>} mostly valid
 */
function valueOf(schema, known) {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'integer') {
    return fc.oneof(
      fc.integer({ min: schema.minimum ?? -100, max: Math.min(schema.maximum ?? 1000, 1000) }),
      fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 0)
    )
  }
  if (type === 'boolean') return fc.boolean()
  if (type === 'object') return objectOf(schema, known)
  const texts = known.length > 0 ? [fc.constantFrom(...known)] : []
  const shaped = schema.pattern ? [fc.stringMatching(new RegExp(schema.pattern))] : []
  return fc.oneof(...texts, ...shaped, fc.string({ maxLength: 20 }))
}

/**
 * @param {any} schema
 * @param {unknown[]} known
 * @returns {fc.Arbitrary<Record<string, unknown>>}
 */
function objectOf(schema, known) {
  const { properties = {}, required = [] } = schema
  const values = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [
      name,
      fc.oneof({ weight: 9, arbitrary: valueOf(inner, known) }, { weight: 1, arbitrary: NONSENSE })
    ])
  )
  return fc.record(values, { requiredKeys: required })
}

/**
 * @param {{ method: string, path: string, operation: any }} operation
 * @param {unknown[]} known
 * @returns {fc.Arbitrary<{ method: string, url: string, body: unknown }>} `body` is undefined where there is none
 */
export function requestOf({ method, path, operation }, known) {
  const { parameters = [], requestBody } = operation
  const inPath = parameters.filter((/** @type {any} */ { in: where }) => where === 'path')
  const inQuery = parameters.filter((/** @type {any} */ { in: where }) => where === 'query')
  const valuesOf = (/** @type {any[]} */ list) =>
    fc.record(Object.fromEntries(list.map(({ name, schema }) => [name, valueOf(schema, known)])), {
      requiredKeys: list.filter(({ required }) => required).map(({ name }) => name)
    })
  const bodySchema = requestBody?.content?.['application/json']?.schema
  const body = bodySchema
    ? fc.oneof(
        { weight: 9, arbitrary: objectOf(bodySchema, known) },
        { weight: 1, arbitrary: NONSENSE }
      )
    : fc.constant(undefined)
  const odd = fc.oneof(
    { weight: 9, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.tuple(fc.string({ maxLength: 8 }), NONSENSE) }
  )
  return fc
    .tuple(valuesOf(inPath), valuesOf(inQuery), odd, body)
    .map(([params, query, extra, content]) => {
      let url = path
      for (const [name, value] of Object.entries(params)) {
        url = url.replace(`{${name}}`, encodeURIComponent(safeText(value)))
      }
      const search = new URLSearchParams(
        Object.entries(query).map(
          ([name, value]) => /** @type {[string, string]} */ ([name, safeText(value)])
        )
      )
      if (extra) search.append(safeText(extra[0]), safeText(extra[1]))
      const tail = search.toString()
      return { method, url: tail === '' ? url : `${url}?${tail}`, body: content }
    })
}

/**
 * @param {any} schema
 * @returns {boolean}
 */
const isText = ({ type, enum: choices }) => type === 'string' && choices === undefined

/**
 * @param {{ method: string, path: string, operation: any }} operation
 * @param {string[]} known
 * @returns {{ method: string, url: string, body: unknown }[]} with every known value in each place of the path; plain, and with
 *   each of them for one filter or one field of the body
 */
export function plainRequestsOf({ method, path, operation }, known) {
  const [head = '', ...rest] = path.split(/\{\w+\}/)
  const urls = rest.reduce(
    (begun, next) =>
      begun.flatMap((url) => known.map((value) => `${url}${encodeURIComponent(value)}${next}`)),
    [head]
  )
  const { parameters = [], requestBody } = operation
  // Not with DELETE: there it is the confirmation that an account may go.
  const filters = parameters.filter(
    (/** @type {any} */ { in: where, schema }) =>
      method === 'GET' && where === 'query' && isText(schema)
  )
  const { properties = {} } = requestBody?.content?.['application/json']?.schema ?? {}
  const fields = Object.keys(properties).filter((name) => isText(properties[name]))
  return urls.flatMap((url) => [
    { method, url, body: method === 'POST' ? {} : undefined },
    ...filters.flatMap((/** @type {any} */ { name }) =>
      known.map((value) => {
        return { method, url: `${url}?${name}=${encodeURIComponent(value)}`, body: undefined }
      })
    ),
    ...fields.flatMap((name) => known.map((value) => ({ method, url, body: { [name]: value } })))
  ])
}

/**
 * @param {unknown} value
 * @returns {string} without lone surrogates, which no URL can have
 */
const safeText = (value) =>
  (typeof value === 'object' ? JSON.stringify(value) : String(value)).toWellFormed()
