import { parseMediaType, splitOutsideQuotes, type MediaType } from './media-type.ts';

/** One clause of an Accept header. */
export interface AcceptClause extends MediaType {
  /** 0 to 1; 0 means "not this". */
  q: number;
}

/** Something the server can answer with; `parameters` (`as`, `v`, `g`, `stream`) are part of what it is. */
export interface Offer {
  type: string;
  parameters?: Readonly<Record<string, string>>;
}

const maxClauses = 32;
const qualityForm = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
/** The parameters by which Kubernetes tells one answer from another; clients send others, which mean nothing here. */
const meaningful = ['as', 'v', 'g', 'stream'] as const;

/**
 * Clauses by falling q, equal ones in the client's order. Malformed clauses, and those after the 32nd, are passed over.
 * Source: RFC 9110, 12.5.1.
 */
export function parseAccept(header: string): AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const text of splitOutsideQuotes(header, ',').slice(0, maxClauses)) {
    const parsed = parseMediaType(text);
    const q = parsed?.parameters.get('q') ?? '1';
    if (parsed !== undefined && qualityForm.test(q)) clauses.push({ ...parsed, q: Number(q) });
  }
  return clauses.toSorted((a, b) => b.q - a.q);
}

/**
 * The offer for the client's first clause that has one; the first offer where the client does not care; undefined: 406.
 * A clause with `as=Table` asks for that offer alone, and a clause without never means it. Who accepts failures as
 * `application/problem+json` takes JSON where there is none.
 */
export function negotiate<T extends Offer>(header: string | undefined, offers: readonly T[]): T | undefined {
  if (header === undefined || header === '' || header === '*/*') return offers[0];
  const clauses = parseAccept(header);
  const refused = clauses.filter((clause) => clause.q === 0);
  for (const clause of clauses) {
    if (clause.q === 0) break;
    const found = offers.find(
      (offer) => matches(clause, offer) && !refused.some((other) => other.type === offer.type && matches(other, offer)),
    );
    if (found !== undefined) return found;
  }
  const takesProblems = clauses.some(({ type, q }) => q > 0 && type === 'application/problem+json');
  return takesProblems
    ? offers.find(({ type, parameters }) => type === 'application/json' && parameters === undefined)
    : undefined;
}

function matches(clause: AcceptClause, offer: Offer): boolean {
  if (clause.type !== offer.type && clause.type !== '*/*' && !isRangeOf(clause.type, offer.type)) return false;
  return meaningful.every((name) => clause.parameters.get(name) === offer.parameters?.[name]);
}

function isRangeOf(range: string, type: string): boolean {
  return range.endsWith('/*') && type.startsWith(range.slice(0, -1));
}

/** Does an Accept-Encoding header allow gzip? Source: RFC 9110, 12.5.3. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  for (const text of header.split(',').slice(0, maxClauses)) {
    const [coding, ...parameters] = text.split(';');
    const name = coding!.trim().toLowerCase();
    if (name === 'gzip') return !parameters.some((parameter) => /^\s*q=0(?:\.0*)?\s*$/i.test(parameter));
  }
  return false;
}
