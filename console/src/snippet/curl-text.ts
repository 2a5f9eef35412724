import { selectionParams } from '@svc/client';
import { pathOf, shownSize, type ShownRequest } from './shown-request.ts';

/** A command that prints what the page shows. The token comes from the shell's variable TOKEN. */
export function curlText(request: ShownRequest, origin: string): string {
  const { name, selection = {}, sort = [] } = request;
  const lines = ['curl -sS --fail-with-body -H "authorization: Bearer $TOKEN"'];
  const url = quoted(`${origin}${pathOf(request)}`);
  if (name === undefined) {
    const query = selectionParams(selection);
    for (const key of sort) query.append('sort', key);
    query.set('page', '1');
    query.set('size', String(shownSize));
    lines.push(`-G ${url}`);
    for (const [key, value] of query) lines.push(`--data-urlencode ${quoted(`${key}=${value}`)}`);
  } else {
    lines.push(url);
  }
  return lines.join(' \\\n  ');
}

/** One word for a POSIX shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
