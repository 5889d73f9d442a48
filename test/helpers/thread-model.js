/**
 * THREAD as RFC 5256 §3 describes it, step by step and however slow: the server's threads are compared with it.
 */

/**
 * @typedef {object} Mail
 * @property {number} number - its message number
 * @property {string | null} id - its Message-ID; null where it has none that counts
 * @property {string[]} references - Message-IDs of the messages above it, the nearest one last
 * @property {string} base - base subject, upper case
 * @property {boolean} isReply - whether its subject has lost a `Re:` or the like on the way to that
 * @property {number} sent - seconds
 *
 * @typedef {{ mail: Mail | null, parent: Node | null, children: Node[] }} Node - `mail` null: a message that nobody has
 */

/**
 * @param {Mail} left
 * @param {Mail} right
 * @returns {number} the order of sent dates, and of numbers where they are alike (§2.2)
 */
const compareMails = (left, right) => left.sent - right.sent || left.number - right.number

/**
 * @param {readonly Mail[]} mails - in the order of their numbers
 * @returns {string} the text after `* THREAD`
 */
export function threadReferences(mails) {
  const nodes = linked(mails)
  const roots = pruned(
    nodes.filter(({ parent }) => parent === null),
    true
  )
  // Step 4: a node without a message counts as its first child does.
  for (const { mail, children } of roots) if (mail === null) children.sort(compareNodes)
  return written(sorted(gathered(roots.sort(compareNodes))))
}

/**
 * @param {readonly Mail[]} mails
 * @returns {string} as `threadReferences`, by subjects alone
 */
export function threadOrderedSubject(mails) {
  const inOrder = [...mails].sort(compareMails)
  const groups = [...Map.groupBy(inOrder, ({ base }) => base).values()]
  const roots = groups.map(([first, ...others]) => ({
    ...nodeOf(/** @type {Mail} */ (first)),
    children: others.map(nodeOf)
  }))
  return written(roots.sort(compareNodes))
}

/**
 * @param {Mail | null} mail
 * @returns {Node}
 */
const nodeOf = (mail) => ({ mail, parent: null, children: [] })

/**
 * Step 1: links messages by their references.
 *
 * @param {readonly Mail[]} mails
 * @returns {Node[]}
 */
function linked(mails) {
  /** @type {Node[]} */
  const nodes = []
  /** @type {Map<string, Node>} */
  const byId = new Map()
  const add = (/** @type {Mail | null} */ mail) => {
    const node = nodeOf(mail)
    nodes.push(node)
    return node
  }
  const nodeOfId = (/** @type {string} */ id) => {
    const node = byId.get(id) ?? add(null)
    byId.set(id, node)
    return node
  }
  const taken = new Set()
  for (const mail of mails) {
    // A message without an id, or with one that another has, is known by none.
    const isKnown = mail.id !== null && !taken.has(mail.id)
    const own = isKnown ? nodeOfId(/** @type {string} */ (mail.id)) : add(mail)
    own.mail = mail
    if (isKnown) taken.add(mail.id)
    for (const [at, id] of mail.references.entries()) {
      const child = nodeOfId(id)
      const above = mail.references[at - 1]
      if (above !== undefined && child.parent === null) link(nodeOfId(above), child)
    }
    unlink(own)
    const last = mail.references.at(-1)
    if (last !== undefined) link(nodeOfId(last), own)
  }
  return nodes
}

/**
 * @param {Node} parent
 * @param {Node} child - stays as it is where the link would close a circle
 */
function link(parent, child) {
  for (let above = /** @type {Node | null} */ (parent); above !== null; above = above.parent)
    if (above === child) return
  child.parent = parent
  parent.children.push(child)
}

/** @param {Node} child */
function unlink(child) {
  const siblings = child.parent?.children ?? []
  siblings.splice(siblings.indexOf(child), child.parent === null ? 0 : 1)
  child.parent = null
}

/**
 * Step 3: takes out nodes without a message; those at the top stay where they hold several together.
 *
 * @param {readonly Node[]} nodes
 * @param {boolean} isTop
 * @returns {Node[]}
 */
function pruned(nodes, isTop) {
  return nodes.flatMap((node) => {
    node.children = pruned(node.children, false)
    const { mail, children } = node
    if (mail !== null) return [node]
    return isTop && children.length > 1 ? [node] : children
  })
}

/**
 * @param {Node} node
 * @returns {Mail} its own, or that of its first child
 */
const mailOf = ({ mail, children }) => mail ?? mailOf(/** @type {Node} */ (children[0]))

/**
 * @param {Node} left
 * @param {Node} right
 * @returns {number}
 */
const compareNodes = (left, right) => compareMails(mailOf(left), mailOf(right))

/**
 * Step 5: brings threads with the same base subject together.
 *
 * @param {readonly Node[]} roots - in their order
 * @returns {Node[]}
 */
function gathered(roots) {
  const isReply = (/** @type {Node} */ node) => node.mail?.isReply === true
  /** @type {Map<string, Node>} */
  const table = new Map()
  for (const root of roots) {
    const { base } = mailOf(root)
    const other = table.get(base)
    const isBetter =
      other === undefined ||
      (other.mail !== null && (root.mail === null || (isReply(other) && !isReply(root))))
    if (base !== '' && isBetter) table.set(base, root)
  }
  const merged = new Set(roots)
  for (const root of roots) {
    const { base } = mailOf(root)
    const other = table.get(base)
    if (other === undefined || other === root) continue
    merged.delete(root)
    if (other.mail === null && root.mail === null) other.children.push(...root.children)
    else if (other.mail === null || (isReply(root) && !isReply(other))) other.children.push(root)
    else {
      const both = { ...nodeOf(null), children: [other, root] }
      merged.delete(other)
      merged.add(both)
      table.set(base, both)
    }
  }
  return [...merged]
}

/**
 * Step 6.
 *
 * @param {Node[]} nodes
 * @returns {Node[]} the same, sorted at every level
 */
function sorted(nodes) {
  for (const { children } of nodes) sorted(children)
  return nodes.sort(compareNodes)
}

/**
 * @param {readonly Node[]} threads
 * @returns {string} RFC 5256 §5, `thread-list`
 */
function written(threads) {
  return threads.map((thread) => `(${members(thread)})`).join('')
}

/**
 * @param {Node} node
 * @returns {string}
 */
function members({ mail, children }) {
  const own = mail === null ? [] : [String(mail.number)]
  const [only, ...others] = children
  if (only === undefined) return own.join('')
  const below = others.length === 0 ? members(only) : written(children)
  return [...own, below].join(' ')
}
