/**
 * @param {AsyncIterable<Buffer>} chunks
 * @returns {Promise<Buffer>} all of them in one
 */
export async function collectBytes(chunks) {
  const all = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all)
}
