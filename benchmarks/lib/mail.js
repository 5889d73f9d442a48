/**
 * Mail that looks real, made from a seed: message number i is the same bytes in every run and for every server.
 *
 * Sizes follow everyday mail (median 5.9 KB, a twentieth with attachments), words follow Zipf's law, every fifth
 * message has words in other scripts. Words that appear nowhere else are planted by the message's number, so that a
 * search has a right answer.
 */
import { Random, seedFor } from './random.js'

/**
 * @typedef {object} Mail
 * @property {Buffer} bytes - with CRLF
 * @property {string[]} flags
 * @property {number} epochSeconds - of INTERNALDATE and Date, in UTC
 *
 * @typedef {object} Plant
 * @property {number} every - one message in so many
 * @property {number} offset - number of the first
 * @property {string} text
 * @property {'body' | 'subject' | 'from'} where
 */

/** @satisfies {Record<string, Plant>} */
export const PLANTS = {
  rare: { every: 500, offset: 7, text: 'zanzibarquux', where: 'body' },
  frequent: { every: 10, offset: 3, text: 'velvetlantern', where: 'body' },
  // All three are in one message of 100: each alone is in more.
  firstOfThree: { every: 100, offset: 9, text: 'alphamarrow', where: 'body' },
  secondOfThree: { every: 50, offset: 9, text: 'betamarrow', where: 'body' },
  thirdOfThree: { every: 20, offset: 9, text: 'gammamarrow', where: 'body' },
  phrase: { every: 250, offset: 21, text: 'crimson otter parade', where: 'body' },
  // The same words in another order: a phrase search must not find them.
  notThePhrase: { every: 50, offset: 22, text: 'parade otter crimson', where: 'body' },
  subject: { every: 500, offset: 11, text: 'raresubject', where: 'subject' },
  from: { every: 250, offset: 13, text: 'quintessa', where: 'from' }
}

/**
 * @param {keyof typeof PLANTS} name
 * @param {number} messages - numbers from 0 up to this, exclusive
 * @returns {number} how many messages have it
 */
export function plantedCount(name, messages) {
  const { every, offset } = PLANTS[name]
  return Math.max(0, Math.ceil((messages - offset) / every))
}

/**
 * @param {keyof typeof PLANTS} name
 * @param {number} index - of a message
 * @returns {boolean} whether that message has it
 */
export const hasPlant = (name, index) => isPlanted(PLANTS[name], index)

/**
 * @param {Plant} plant
 * @param {number} index
 */
const isPlanted = ({ every, offset }, index) => index % every === offset % every

const FLAGGED_EVERY = 20

/** @param {number} index - of a message */
export const isFlagged = (index) => index % FLAGGED_EVERY === 0

/** @param {number} messages */
export const flaggedCount = (messages) => Math.ceil(messages / FLAGGED_EVERY)

const START_SECONDS = Date.UTC(2021, 0, 4, 8) / 1000
const INTERVAL_SECONDS = 26 * 60

/**
 * @param {number} index
 * @returns {number} seconds since 1970
 */
export const sentAt = (index) => START_SECONDS + index * INTERVAL_SECONDS

const SYLLABLES =
  'ba be bi bo da de di do fa fe fi ga ge go ha he ka ke ki la le li lo ma me mi mo na ne ni no pa pe pi ra re ri ro sa se si so ta te ti to tu va ve vi wa we'.split(
    ' '
  )
const ENDINGS = ['', '', 'n', 'r', 's', 't', 'l', 'ng', 'ck']
const OTHER_SCRIPTS =
  'Grüße naïve Straße façade señor Ελλάδα καλημέρα привет спасибо 日本語 東京 你好 안녕하세요 مرحبا שלום Ødegård'.split(
    ' '
  )
const VOCABULARY_WORDS = 12_000
const PEOPLE = 800
/** A table of so many entries holds each word as often as its rank deserves. */
const ZIPF_ENTRIES = 1 << 17

const MEDIAN_TEXT_BYTES = 3000
const TEXT_DEVIATION = 1
const MOST_TEXT_BYTES = 200_000
const HTML_SHARE = 0.45
const ATTACHMENT_SHARE = 0.05
const MEDIAN_ATTACHMENT_BYTES = 45_000
const MOST_ATTACHMENT_BYTES = 1_500_000

/** @param {string} word */
const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1)

/** @param {Buffer} bytes */
const base64Lines = (bytes) => `${bytes.toString('base64').replace(/(.{76})/g, '$1\r\n')}\r\n`

/**
 * @param {string} text - with CRLF
 * @returns {string} RFC 2045 §6.7
 */
function quotedPrintable(text) {
  return text
    .split('\r\n')
    .map((line) => {
      let encoded = ''
      let column = 0
      for (const byte of Buffer.from(line)) {
        const unit =
          byte === 61 || byte < 32 || byte > 126
            ? `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
            : String.fromCharCode(byte)
        if (column + unit.length > 74) {
          encoded += '=\r\n'
          column = 0
        }
        encoded += unit
        column += unit.length
      }
      return encoded.replace(/ $/, '=20')
    })
    .join('\r\n')
}

/** @param {number} epochSeconds */
function headerDate(epochSeconds) {
  // "Mon, 04 Jan 2021 08:00:00 GMT" with a numeric zone.
  return new Date(epochSeconds * 1000).toUTCString().replace('GMT', '+0000')
}

/** Makes the messages of one seed. */
export class MailGenerator {
  #seed
  /** @type {string[]} */
  #words = []
  /** @type {Uint16Array} */
  #table = new Uint16Array(ZIPF_ENTRIES)
  /** @type {string[]} */
  #people = []

  /** @param {number} seed */
  constructor(seed) {
    this.#seed = seed
    const random = new Random(seed)
    const words = new Set()
    while (words.size < VOCABULARY_WORDS) {
      let word = ''
      for (let count = 1 + random.below(4); count > 0; count--) word += random.pick(SYLLABLES)
      words.add(word + random.pick(ENDINGS))
    }
    this.#words = [...words]
    this.#fillTable()
    for (let index = 0; index < PEOPLE; index++) {
      const [first, last] = [this.#word(random), this.#word(random)]
      this.#people.push(
        `${capital(first)} ${capital(last)} <${first}.${last}@${random.pick(this.#words)}.example>`
      )
    }
  }

  #fillTable() {
    const weights = this.#words.map((_, rank) => 1 / (rank + 3))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    let entry = 0
    let reached = 0
    weights.forEach((weight, rank) => {
      reached += weight
      while (entry < ZIPF_ENTRIES && entry < (reached / total) * ZIPF_ENTRIES) {
        this.#table[entry++] = rank
      }
    })
  }

  /** @param {Random} random */
  #word(random) {
    const rank = /** @type {number} */ (this.#table[random.below(ZIPF_ENTRIES)])
    return /** @type {string} */ (this.#words[rank])
  }

  /**
   * @param {number} index - from 0
   * @returns {Mail}
   */
  mailOf(index) {
    const random = new Random(seedFor(this.#seed, index))
    const epochSeconds = sentAt(index)
    const isForeign = random.below(5) === 0
    const header = this.#header(random, index, epochSeconds, isForeign)
    const flags = [
      ...(random.below(10) < 6 ? ['\\Seen'] : []),
      ...(isFlagged(index) ? ['\\Flagged'] : [])
    ]
    const bytes = Buffer.from(header + this.#body(random, index, isForeign))
    return { bytes, flags, epochSeconds }
  }

  /**
   * @param {Random} random
   * @param {number} index
   * @param {number} epochSeconds
   * @param {boolean} isForeign
   */
  #header(random, index, epochSeconds, isForeign) {
    const date = headerDate(epochSeconds)
    const host = `${random.pick(this.#words)}.example`
    const lines = [`Return-Path: <bounce-${index}@${host}>`]
    for (let hop = 0; hop < 1 + random.below(3); hop++) {
      lines.push(
        `Received: from mx${hop}.${host} (mx${hop}.${host} [192.0.2.${random.below(255)}])`,
        `\tby in${hop}.example (Postfix) with ESMTPS id ${random.next().toString(16)}`,
        `\tfor <user@example.org>; ${date}`
      )
    }
    if (random.below(2) === 0) {
      const signature = random.bytes(192).toString('base64')
      lines.push(
        `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${host}; s=mail;`,
        `\th=from:to:subject:date:message-id; bh=${signature.slice(0, 43)}=;`,
        ...[0, 72, 144].map(
          (at) => `\t${at === 0 ? 'b=' : ' '}${signature.slice(at + 43, at + 115)}`
        )
      )
    }
    const planted = (/** @type {Plant['where']} */ where) => this.#planted(index, where)[0] ?? ''
    const subject = Array.from({ length: 2 + random.below(6) }, () => this.#word(random))
    const special = planted('from')
    const title = capital([...subject, planted('subject')].join(' ').trim())
    const replyTo = index > 10 && random.below(3) === 0 ? index - 1 - random.below(10) : null
    lines.push(
      `Date: ${date}`,
      `From: ${special ? `${capital(special)} Vale <${special}@example.org>` : random.pick(this.#people)}`,
      `To: ${random.pick(this.#people)}`,
      ...(random.below(4) === 0
        ? [`Cc: ${random.pick(this.#people)},\r\n\t${random.pick(this.#people)}`]
        : []),
      `Subject: ${replyTo === null ? '' : 'Re: '}${this.#encodeSubject(random, title, isForeign && !planted('subject'))}`,
      `Message-ID: <${this.#messageId(index)}>`,
      ...(replyTo === null
        ? []
        : [
            `In-Reply-To: <${this.#messageId(replyTo)}>`,
            `References: <${this.#messageId(replyTo)}>`
          ]),
      'MIME-Version: 1.0',
      ...(random.below(5) === 0 ? [`List-Id: <list${random.below(30)}.${host}>`] : [])
    )
    return `${lines.join('\r\n')}\r\n`
  }

  /** @param {number} index */
  #messageId(index) {
    return `${index}.${this.#seed.toString(16)}@benchmark.example`
  }

  /**
   * @param {Random} random
   * @param {string} title
   * @param {boolean} isEncoded
   */
  #encodeSubject(random, title, isEncoded) {
    if (!isEncoded) return title
    const short = `${title.slice(0, 16)} ${random.pick(OTHER_SCRIPTS)}`
    return `=?utf-8?B?${Buffer.from(short).toString('base64')}?=`
  }

  /**
   * @param {number} index
   * @param {Plant['where']} where
   */
  #planted(index, where) {
    return Object.values(PLANTS)
      .filter((plant) => plant.where === where && isPlanted(plant, index))
      .map(({ text }) => text)
  }

  /**
   * @param {Random} random
   * @param {number} index
   * @param {boolean} isForeign
   */
  #body(random, index, isForeign) {
    const size = Math.exp(Math.log(MEDIAN_TEXT_BYTES) + TEXT_DEVIATION * random.normal())
    const text = this.#text(random, index, Math.min(MOST_TEXT_BYTES, size), isForeign)
    const boundary = `=_${index}_${random.next().toString(16)}`
    let body = this.#textPart(random, 'plain', text, isForeign)
    if (random.fraction() < HTML_SHARE) {
      const html = `<html><head><style>p{margin:0 0 1em;font-family:sans-serif}</style></head><body>\r\n<p>${text.replaceAll('\r\n\r\n', '</p>\r\n<p>')}</p>\r\n</body></html>\r\n`
      const parts = [body, this.#textPart(random, 'html', html, isForeign)]
      body = multipart('alternative', `${boundary}a`, parts)
    }
    if (random.fraction() >= ATTACHMENT_SHARE) return body
    const bytes = Math.min(
      MOST_ATTACHMENT_BYTES,
      Math.exp(Math.log(MEDIAN_ATTACHMENT_BYTES) + random.normal())
    )
    const name = `${this.#word(random)}.pdf`
    const attachment = `Content-Type: application/pdf; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64Lines(random.bytes(Math.floor(bytes)))}`
    return multipart('mixed', `${boundary}m`, [body, attachment])
  }

  /**
   * @param {Random} random
   * @param {number} index
   * @param {number} size - about so many characters
   * @param {boolean} isForeign
   */
  #text(random, index, size, isForeign) {
    let text = `Hello ${capital(this.#word(random))},\r\n\r\n`
    let column = 0
    let left = 5 + random.below(14)
    let isStart = true
    while (text.length < size) {
      const word =
        isForeign && random.below(12) === 0 ? random.pick(OTHER_SCRIPTS) : this.#word(random)
      const written = isStart ? capital(word) : word
      isStart = --left === 0
      text += isStart ? `${written}.` : written
      column += word.length + 1
      if (isStart) left = 5 + random.below(14)
      if (isStart && random.below(6) === 0) {
        text += '\r\n\r\n'
        column = 0
      } else if (column > 66) {
        text += '\r\n'
        column = 0
      } else text += ' '
    }
    const planted = this.#planted(index, 'body').map((word) => `Note the ${word} here.\r\n`)
    return `${text}\r\n\r\n${planted.join('')}-- \r\n${capital(this.#word(random))}\r\n`
  }

  /**
   * @param {Random} random
   * @param {'plain' | 'html'} subtype
   * @param {string} text
   * @param {boolean} isForeign
   */
  #textPart(random, subtype, text, isForeign) {
    const charset = isForeign ? 'utf-8' : 'us-ascii'
    const encoding = isForeign ? random.pick(['quoted-printable', 'base64']) : '7bit'
    const encoded =
      encoding === '7bit'
        ? text
        : encoding === 'base64'
          ? base64Lines(Buffer.from(text))
          : quotedPrintable(text)
    return `Content-Type: text/${subtype}; charset=${charset}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${encoded}`
  }
}

/**
 * @param {'mixed' | 'alternative'} subtype
 * @param {string} boundary
 * @param {string[]} parts - header and body
 */
function multipart(subtype, boundary, parts) {
  const bodies = parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')
  return `Content-Type: multipart/${subtype}; boundary="${boundary}"\r\n\r\n${bodies}--${boundary}--\r\n`
}
