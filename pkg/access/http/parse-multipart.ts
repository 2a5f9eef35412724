import { isUtf8 } from 'node:buffer';
import { maxUrlEncoded, parseMediaType } from '#pkg/http/index';
import { newParseError } from './access-error.ts';

/** Per part; RFC 7578 defines three. */
const maxHeaderLines = 8;
const maxHeaderBytes = 1024;
/** RFC 2046, 5.1.1, without characters that need an escape in a header. */
const boundaryForm = /^[0-9A-Za-z'()+_,./:=? -]{1,70}$/;

/**
 * Parses a `multipart/form-data` body with Node's own parser. Header lines are counted first, as that parser is far
 * slower for them than for anything else.
 * @throws AccessError 400 `parse_error`, naming the rule, for more than 1000 parts, more than 8 header lines or 1024
 * header bytes in a part, and a body that cannot be parsed
 */
export async function parseMultipart(bytes: Buffer, contentType: string): Promise<FormData> {
  const boundary = parseMediaType(contentType)?.parameters.get('boundary') ?? '';
  if (!boundaryForm.test(boundary)) throw newParseError('a multipart body needs a boundary of 1 to 70 characters');
  if (!isUtf8(bytes)) throw newParseError('the texts of a form must be UTF-8');
  checkParts(`\r\n${bytes.toString('latin1')}`.split(`\r\n--${boundary}`, maxUrlEncoded + 3));
  try {
    // Pass the boundary as read here: both parsers must see the same parts.
    return await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    }).formData();
  } catch {
    throw newParseError('the multipart body cannot be read');
  }
}

/** Takes the preamble, the parts, and the text after the last delimiter. */
function checkParts([, ...parts]: readonly string[]): void {
  if (parts.length > maxUrlEncoded + 1) throw newParseError(`a form has at most ${maxUrlEncoded} fields`);
  for (const part of parts) {
    const headers = part.split('\r\n\r\n', 1)[0]!;
    if (headers.length > maxHeaderBytes)
      throw newParseError(`the header lines of a part of a form have at most ${maxHeaderBytes} bytes`);
    // The first line break ends the delimiter.
    if (headers.split('\r\n').length > maxHeaderLines + 1)
      throw newParseError(`a part of a form has at most ${maxHeaderLines} header lines`);
  }
}
