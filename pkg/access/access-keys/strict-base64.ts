/**
 * Decodes standard base64, padded and canonical, so that given bytes have exactly one text. Undefined for any other
 * text. Source: RFC 4648, 3.5.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  // Node ignores invalid characters, so compare with the re-encoded bytes.
  return bytes.toString('base64') === text ? bytes : undefined;
}
