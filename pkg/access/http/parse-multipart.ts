import { isUtf8 } from 'node:buffer';
import { maxUrlEncoded, parseMediaType } from '#pkg/http/index';
import { newParseError } from './access-error.ts';

/** Of one part: RFC 7578 knows three. */
const maxHeaderLines = 8;
const maxHeaderBytes = 1024;
/** RFC 2046, 5.1.1, without what needs an escape in a header. */
const boundaryForm = /^[0-9A-Za-z'()+_,./:=? -]{1,70}$/;

/**
 * The fields of a `multipart/form-data` body, by Node's own parser. That one takes far longer for a header line than
 * for anything else, so they are counted first.
 * @throws AccessError 400 `parse_error` that names the rule, for more than 1000 parts, 8 header lines or 1024 bytes of
 * them in a part, and what cannot be read
 */
export async function parseMultipart(bytes: Buffer, contentType: string): Promise<FormData> {
  const boundary = parseMediaType(contentType)?.parameters.get('boundary') ?? '';
  if (!boundaryForm.test(boundary)) throw newParseError('a multipart body needs a boundary of 1 to 70 characters');
  if (!isUtf8(bytes)) throw newParseError('the texts of a form must be UTF-8');
  checkParts(`\r\n${bytes.toString('latin1')}`.split(`\r\n--${boundary}`, maxUrlEncoded + 3));
  try {
    // With the boundary as it was read here: both must see the same parts.
    return await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    }).formData();
  } catch {
    throw newParseError('the multipart body cannot be read');
  }
}

/** What stands before the first delimiter, the parts, and what ends the last. */
function checkParts([, ...parts]: readonly string[]): void {
  if (parts.length > maxUrlEncoded + 1) throw newParseError(`a form has at most ${maxUrlEncoded} fields`);
  for (const part of parts) {
    const headers = part.split('\r\n\r\n', 1)[0]!;
    if (headers.length > maxHeaderBytes)
      throw newParseError(`the header lines of a part of a form have at most ${maxHeaderBytes} bytes`);
    // The first line ends the delimiter.
    if (headers.split('\r\n').length > maxHeaderLines + 1)
      throw newParseError(`a part of a form has at most ${maxHeaderLines} header lines`);
  }
}
