/**
 * The bytes of standard base64, padded and canonical: of all texts exactly one stands for given bytes. Undefined for
 * any other text. Source: RFC 4648, 3.5.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  // Node skips what is no base64, so the way back tells.
  return bytes.toString('base64') === text ? bytes : undefined;
}
