const replacementCharacter = Buffer.from('\uFFFD');

/** The offset, from 0, of the first byte that is not UTF-8; of bytes that all are, how many there are. */
export function firstBadByte(bytes: Buffer): number {
  const text = bytes.toString();
  let offset = 0;
  let from = 0;
  for (let at = text.indexOf('\uFFFD'); at !== -1; at = text.indexOf('\uFFFD', from)) {
    // All before it was good, so its length in bytes is what it was in the file.
    offset += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(offset, offset + 3).equals(replacementCharacter)) return offset;
    offset += replacementCharacter.length;
    from = at + 1;
  }
  return offset;
}
