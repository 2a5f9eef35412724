import { selectionParams } from '@svc/client';
import {
  acceptForCounts,
  countParams,
  pathOf,
  shownSize,
  type ShownCounts,
  type ShownRequest,
} from './shown-request.ts';

const command = 'curl -sS --fail-with-body -H "authorization: Bearer $TOKEN"';

/** Commands that print what the page shows. The token comes from the shell's variable TOKEN. */
export function curlText(requests: readonly ShownRequest[], origin: string): string {
  return requests.map((request) => commandOf(request, origin)).join('\n');
}

function commandOf(request: ShownRequest, origin: string): string {
  if ('counts' in request) return countsText(request, origin);
  if ('query' in request) return getText(`${origin}${request.path}`, request.query);
  const { name, selection = {}, sort = [] } = request;
  const url = `${origin}${pathOf(request)}`;
  if (name !== undefined) return getText(url, new URLSearchParams());
  const query = selectionParams(selection);
  for (const key of sort) query.append('sort', key);
  query.set('page', '1');
  query.set('size', String(shownSize));
  return getText(url, query);
}

function getText(url: string, query: URLSearchParams): string {
  if (query.size === 0) return [command, quoted(url)].join(lineEnd);
  return [command, `-G ${quoted(url)}`, ...dataOf(query)].join(lineEnd);
}

/** One line for each count, as the table of the plot has them. */
function countsText({ path, counts }: ShownCounts, origin: string): string {
  const lines = [command, `-H ${quoted(`accept: ${acceptForCounts}`)}`, `-G ${quoted(`${origin}${path}`)}`];
  const params = countParams.map(([name, value]) => `-d ${name}=${value}`);
  return [
    'count() {',
    `  printf '%s\\t' "$1"`,
    '  shift',
    `  ${[...lines, `${params.join(' ')} "$@" |`].join(lineEnd)}`,
    `    grep -o '"total":[0-9]*' | cut -d : -f 2`,
    '}',
    ...counts.map(({ label, selectors }) => [`count ${quoted(label)}`, ...dataOf(selectors)].join(' ')),
  ].join('\n');
}

const lineEnd = ' \\\n  ';

function dataOf(query: URLSearchParams): string[] {
  return [...query].map(([key, value]) => `--data-urlencode ${quoted(`${key}=${value}`)}`);
}

/** One word for a POSIX shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
