import { parseMediaType, splitOutsideQuotes, type MediaType } from './media-type.ts';

/** One clause of an Accept header. */
export interface AcceptClause extends MediaType {
  /** 0 to 1; 0 means "not this". */
  q: number;
}

/** A representation that the server offers; `parameters` (`as`, `v`, `g`, `stream`) are part of its identity. */
export interface Offer {
  type: string;
  parameters?: Readonly<Record<string, string>>;
}

const maxClauses = 32;
const qualityForm = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
/** The parameters that select a representation in Kubernetes; others that clients send are ignored. */
const meaningful = ['as', 'v', 'g', 'stream'] as const;

/**
 * Clauses by descending q, equal ones in the client's order. Ignores malformed clauses and all after the 32nd. Source:
 * RFC 9110, 12.5.1.
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
 * The offer that matches the client's first clause with a match; the first offer if the client has no preference;
 * undefined: 406. A clause with `as=Table` matches only that offer, and a clause without never does. A client that
 * accepts `application/problem+json` for failures gets JSON if nothing else matches.
 */
export function negotiate<T extends Offer>(header: string | undefined, offers: readonly T[]): T | undefined {
  return negotiateClause(header, offers)?.offer;
}

/** Like `negotiate`, with the parameters of the clause that matched. */
export function negotiateClause<T extends Offer>(
  header: string | undefined,
  offers: readonly T[],
): { offer: T; parameters: AcceptClause['parameters'] } | undefined {
  const [first] = offers;
  if (header === undefined || header === '' || header === '*/*') return withParameters(first);
  const clauses = parseAccept(header);
  const refused = clauses.filter((clause) => clause.q === 0);
  for (const clause of clauses) {
    if (clause.q === 0) break;
    const found = offers.find(
      (offer) => matches(clause, offer) && !refused.some((other) => other.type === offer.type && matches(other, offer)),
    );
    if (found !== undefined) return withParameters(found, clause.parameters);
  }
  const takesProblems = clauses.some(({ type, q }) => q > 0 && type === 'application/problem+json');
  return takesProblems
    ? withParameters(offers.find(({ type, parameters }) => type === 'application/json' && parameters === undefined))
    : undefined;
}

function withParameters<T>(
  offer: T | undefined,
  parameters: AcceptClause['parameters'] = new Map(),
): { offer: T; parameters: AcceptClause['parameters'] } | undefined {
  return offer && { offer, parameters };
}

function matches(clause: AcceptClause, offer: Offer): boolean {
  if (clause.type !== offer.type && clause.type !== '*/*' && !isRangeOf(clause.type, offer.type)) return false;
  return meaningful.every((name) => clause.parameters.get(name) === offer.parameters?.[name]);
}

function isRangeOf(range: string, type: string): boolean {
  return range.endsWith('/*') && type.startsWith(range.slice(0, -1));
}

/** Whether an Accept-Encoding header names this coding and allows it. Source: RFC 9110, 12.5.3. */
export function acceptsCoding(header: string | undefined, wanted: 'gzip' | 'br'): boolean {
  if (header === undefined) return false;
  for (const text of header.split(',').slice(0, maxClauses)) {
    const [coding, ...parameters] = text.split(';');
    const name = coding!.trim().toLowerCase();
    if (name === wanted) return !parameters.some((parameter) => /^\s*q=0(?:\.0*)?\s*$/i.test(parameter));
  }
  return false;
}

export function acceptsGzip(header: string | undefined): boolean {
  return acceptsCoding(header, 'gzip');
}
