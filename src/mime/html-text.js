/**
 * The text that a reader of an HTML part sees, for search. One pass over the source with no tree: mail can hold a
 * million open tags, on which tree builders (html-to-text among them: 9 s for 1 MB) take quadratic time.
 */
import { decodeHTML } from 'entities/decode'

/** Elements that do not part words: `wor<b>ld</b>` reads "world". */
const INLINE = new Set(
  (
    'a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd label mark nobr o:p q ruby s samp small span ' +
    'strike strong sub sup tt u var wbr'
  ).split(' ')
)

/** Elements whose content is not shown; that of noscript is, since mail programs run no scripts. */
const HIDDEN = new Set(['script', 'style', 'template', 'xml'])

const COMMENT_END = /--!?>/g
/** Comments that end as they begin. */
const EMPTY_COMMENT = /^<!---?>/

/** Attributes that a reader sees or looks for; they are sought in the first MAX_TAG_CHARACTERS of a tag's source. */
const ATTRIBUTE = /\s(?:alt|title|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi
const MAX_TAG_CHARACTERS = 4_096
const TAG_STOP = /[>"']/g

/** @type {Map<string, string>} named character references met so far; bounded */
const knownReferences = new Map()

/** A reference that decodes to one of these stands for a space, as the character itself would. */
const BLANK = /^[\t\r\n\f]$/

/** So many characters of a tag must be at hand, unless it ends before, to tell a comment or the element's name. */
const TAG_HEAD_CHARACTERS = 34

/** A character reference that is decoded here has at most so many characters. */
const MAX_REFERENCE_CHARACTERS = 40

/** At most so many characters of white space in a row are kept until it is known what follows. */
const MAX_SPACE_CHARACTERS = 4_096

/** Reads a page that comes in pieces; a few thousand characters are kept between them. */
export class HtmlTextReader {
  #isPreview
  /** Source that has not been looked at yet. */
  #rest = ''
  /**
   * The kind of source that is being passed over; `hidden`: the content of `#element`.
   *
   * @type {'comment' | 'tag' | 'hidden' | null}
   */
  #inside = null
  /** The source of the open tag, as far as it is kept. */
  #tag = ''
  /** The quote that ends the open tag's present value. */
  #quote = ''
  /** The open tag's last character that is no white space. */
  #tagEnd = ''
  #element = ''
  /** @type {string[]} text found by the present call */
  #out = []
  /** Text that may end in half a character reference. */
  #undecoded = ''
  /** White space at the end of what was given out. */
  #space = ''
  #isBegun = false

  /**
   * @param {{ isPreview?: boolean }} [options] - `isPreview`: without text that does not stand on the page itself: the `alt`,
   *   `title` and `href` of tags, and the title of the page
   */
  constructor({ isPreview = false } = {}) {
    this.#isPreview = isPreview
  }

  /**
   * @param {string} html
   * @returns {string} text that is certain by now: with white space collapsed, a line a block
   */
  push(html) {
    this.#rest += html
    this.#read(false)
    return this.#flush(false)
  }

  /** @returns {string} the rest */
  end() {
    this.#read(true)
    return this.#flush(true)
  }

  /** @param {boolean} isLast */
  #read(isLast) {
    const html = this.#rest
    let at = 0
    while (at < html.length) {
      if (this.#inside !== null) {
        const next = this.#passOver(html, at)
        if (next === -1) return
        at = next
        continue
      }
      const open = html.indexOf('<', at)
      const end = open === -1 ? html.length : open
      if (end > at) this.#out.push(collapse(html.slice(at, end)))
      at = end
      if (open === -1) break
      const isShort = html.length - open < TAG_HEAD_CHARACTERS && !html.includes('>', open)
      if (isShort && !isLast) break
      at = this.#beginMarkup(html, open)
    }
    this.#rest = html.slice(at)
  }

  /**
   * @param {string} html
   * @param {number} open - place of a `<`
   * @returns {number} the place after what was read of it
   */
  #beginMarkup(html, open) {
    const head = html.slice(open, open + TAG_HEAD_CHARACTERS)
    if (head.startsWith('<!--')) {
      const empty = EMPTY_COMMENT.exec(head)?.[0]
      if (empty !== undefined) return open + empty.length
      this.#inside = 'comment'
      return open + 4
    }
    const name = /^<\/?([a-z][a-z0-9:]{0,30})|^<[!?]/i.exec(head)
    if (!name) {
      this.#out.push('<')
      return open + 1
    }
    this.#element = (name[1] ?? '').toLowerCase()
    this.#tag = ''
    this.#quote = ''
    this.#inside = 'tag'
    return open
  }

  /**
   * @param {string} html
   * @param {number} at
   * @returns {number} the place after what is passed over; -1 when it goes on after the end
   */
  #passOver(html, at) {
    if (this.#inside === 'tag') return this.#passTag(html, at)
    const isComment = this.#inside === 'comment'
    const end = isComment ? commentEnd(html, at) : hiddenEnd(html, at, this.#element)
    if (end === -1) {
      // The end of it may have begun: so many characters are kept.
      const length = isComment ? 3 : this.#element.length + 1
      this.#rest = html.slice(Math.max(at, html.length - length))
      return -1
    }
    this.#inside = null
    return end
  }

  /**
   * Passes over a tag to its `>`; one within a quoted value is part of the value.
   *
   * @param {string} html
   * @param {number} at
   * @returns {number} the place after it, or -1
   */
  #passTag(html, at) {
    while (at < html.length) {
      const stop = this.#quote === '' ? tagStop(html, at) : html.indexOf(this.#quote, at)
      const end = stop === -1 ? html.length : stop + 1
      const piece = html.slice(at, end)
      this.#tag += piece.slice(0, MAX_TAG_CHARACTERS - this.#tag.length)
      at = end
      if (stop === -1) this.#tagEnd = piece.trimEnd().at(-1) ?? this.#tagEnd
      else if (this.#quote !== '') {
        this.#tagEnd = this.#quote
        this.#quote = ''
      } else if (html[stop] === '>') {
        this.#inside = null
        this.#endTag()
        return at
      } else {
        const mark = /** @type {string} */ (html[stop])
        const before = piece.slice(0, -1).trimEnd().at(-1) ?? this.#tagEnd
        // A quote begins a value only behind `=`; those of a doctype do not count.
        if (before === '=' && this.#element !== '') this.#quote = mark
        this.#tagEnd = mark
      }
    }
    this.#rest = ''
    return -1
  }

  /** Puts out the text that is seen of a tag, and enters a hidden element. */
  #endTag() {
    const tag = this.#tag
    if (!INLINE.has(this.#element)) this.#out.push('\n')
    if (tag[1] === '/') return
    if (HIDDEN.has(this.#element) || (this.#isPreview && this.#element === 'title'))
      this.#inside = 'hidden'
    else if (!this.#isPreview && tag.includes('='))
      for (const [, double, single, bare] of tag.matchAll(ATTRIBUTE))
        this.#out.push(` ${collapse(literalQuery(double ?? single ?? bare ?? ''))} `)
  }

  /**
   * @param {boolean} isLast
   * @returns {string}
   */
  #flush(isLast) {
    const raw = this.#undecoded + this.#out.join('')
    this.#out = []
    const ampersand = raw.lastIndexOf('&')
    const isOpen = ampersand !== -1 && raw.length - ampersand < MAX_REFERENCE_CHARACTERS
    const end = isOpen && !isLast ? ampersand : raw.length
    this.#undecoded = raw.slice(end)
    let text = this.#space + decodeReferences(raw.slice(0, end))
    if (!this.#isBegun) text = text.trimStart()
    const body = text.trimEnd()
    this.#isBegun ||= body.length > 0
    this.#space = text.slice(body.length)
    if (this.#space.length > MAX_SPACE_CHARACTERS)
      this.#space = normalize(this.#space).slice(0, MAX_SPACE_CHARACTERS)
    return normalize(body)
  }
}

/**
 * @param {string} html
 * @param {number} from
 * @returns {number} where a tag ends or a quote stands, or -1
 */
function tagStop(html, from) {
  TAG_STOP.lastIndex = from
  return TAG_STOP.exec(html)?.index ?? -1
}

/**
 * @param {string} html
 * @param {number} from
 * @returns {number} the place after its end, or -1
 */
function commentEnd(html, from) {
  COMMENT_END.lastIndex = from
  return COMMENT_END.test(html) ? COMMENT_END.lastIndex : -1
}

/**
 * @param {string} html
 * @param {number} from
 * @param {string} element
 * @returns {number} where its end tag begins, or -1
 */
function hiddenEnd(html, from, element) {
  const end = new RegExp(`</${element}`, 'gi')
  end.lastIndex = from
  return end.exec(html)?.index ?? -1
}

/**
 * @param {string} text
 * @returns {string} with runs of white space as one space, or as one line end if there is one in them
 */
function normalize(text) {
  return text.replace(/[ \n\u00a0]{2,}/g, (run) => (run.includes('\n') ? '\n' : ' '))
}

/**
 * @param {string} text
 * @returns {string} with each run of white space as one space
 */
function collapse(text) {
  return text.replace(/[ \t\r\n\f]+/g, ' ')
}

/**
 * Addresses are written with bare ampersands, and browsers take none of `&copy=1` for a reference there.
 *
 * @param {string} value - of an attribute
 * @returns {string} the same with those ampersands written out
 */
const literalQuery = (value) => value.replace(/&(?=\w+=)/g, '&amp;')

/**
 * @param {string} text
 * @returns {string} with `&amp;`, `&#233;` and the like as the characters that they stand for
 */
function decodeReferences(text) {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,31}));?/gi, (written) => {
    const known = knownReferences.get(written)
    if (known !== undefined) return known
    // The library has the table of all 2,231 names and the rules for the numbers that mean something else.
    const decoded = decodeHTML(written).replace(BLANK, ' ')
    if (knownReferences.size > 4_000) knownReferences.clear()
    knownReferences.set(copyOf(written), copyOf(decoded))
    return decoded
  })
}

/**
 * @param {string} text - a piece of a longer one, all of which V8 keeps in memory for as long as the piece
 * @returns {string} the same in memory of its own
 */
const copyOf = (text) => Buffer.from(text).toString()
