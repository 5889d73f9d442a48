/**
 * Which literals are messages, and so are streamed instead of buffered: those of APPEND after the mailbox name,
 * RFC 9051 §6.3.12; several with MULTIAPPEND, RFC 3502; and inside `UTF8 (…)`, RFC 6855 §4.
 */

/**
 * @param {import('./command-line.js').CommandLine} command - the tokens before the literal
 * @returns {boolean} whether the next literal is a message
 */
export function isMessageLiteral(command) {
  if (command.name !== 'APPEND' || command.tokens.length === 0) return false
  if (command.depth === 0) return true
  const word = command.tokens.at(-2)
  return (
    command.depth === 1 &&
    command.current.length === 0 &&
    word?.type === 'atom' &&
    word.text.toUpperCase() === 'UTF8'
  )
}
