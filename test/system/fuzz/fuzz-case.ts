import type { WireRequest } from '../harness/wire/wire-request.ts';
import type { SeededRandom } from '../harness/seeded-random.ts';
import type { Answer } from '../harness/wire/answer.ts';
import type { FuzzTargets } from './fuzz-targets.ts';

/** The requests of one case, in order, with area-specific checks of the responses. */
export interface FuzzCase {
  area: string;
  requests: WireRequest[];
  /** `never`: none of its requests may change anything, whatever the response. */
  changes: 'never' | 'maybe';
  /** The server may take long, because the case tests timeouts. */
  slow?: boolean;
  /** The problem with the responses, one for each request; undefined for a request without a response. */
  judge?: (answers: readonly (Answer | undefined)[]) => string | undefined;
}

/** One area of attack; `W` is the target of its requests. */
export interface AttackArea<W = FuzzTargets> {
  name: string;
  /** Relative frequency. */
  weight: number;
  generate(random: SeededRandom, fixtures: W): Omit<FuzzCase, 'area'>;
}

/** One of a few object names, so that a long run leaves few objects; a case must not write to others. */
export function caseName(random: SeededRandom): string {
  return `f${random.below(500)}`;
}

/** `a=b&c=d`, percent-encoded, with unpaired surrogates replaced. */
export function query(pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${percent(name)}=${percent(value)}`).join('&')}`;
}

const malformedEscapes = ['%', '%2', '%zz', '%ff', '%C3', '%C0%80', '%ED%A0%80', '%F4%90%80%80'];

/** A target with a malformed escape in the value or name of one parameter. */
export function malformedEscape(random: SeededRandom, target: string): string {
  const escape = random.pick(malformedEscapes);
  return `${target}${target.includes('?') ? '&' : '?'}${random.pick([`watch=${escape}`, `limit=${escape}`, `x=1${escape}`, `${escape}=1`, escape])}`;
}

/** Replaces unpaired surrogates. */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}

export function percent(text: string): string {
  return encodeURIComponent(wellFormed(text));
}
