import type { WireRequest } from '../harness/wire/wire-request.ts';
import type { SeededRandom } from '../harness/seeded-random.ts';
import type { Answer } from '../harness/wire/answer.ts';
import type { World } from './world.ts';

/** What one case sends, in order, and what only its area knows about the answers. */
export interface FuzzCase {
  area: string;
  requests: WireRequest[];
  /** `never`: nothing it sends may change anything, whatever is answered. */
  changes: 'never' | 'maybe';
  /** A server may take long to end these, as time limits are what they try. */
  slow?: boolean;
  /** What is wrong with the answers, one for each request; undefined where one got none. */
  judge?: (answers: readonly (Answer | undefined)[]) => string | undefined;
}

/** One field of attack; `W` is what its requests are aimed at. */
export interface Area<W = World> {
  name: string;
  /** How often it is chosen, next to the others. */
  weight: number;
  generate(random: SeededRandom, world: W): Omit<FuzzCase, 'area'>;
}

/** A name for an object, of few, so that a run of millions leaves few objects behind; a case may write to no other. */
export function caseName(random: SeededRandom): string {
  return `f${random.below(500)}`;
}

/** `a=b&c=d`, each part percent-encoded, lone surrogates replaced. */
export function query(pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${percent(name)}=${percent(value)}`).join('&')}`;
}

const malformedEscapes = ['%', '%2', '%zz', '%ff', '%C3', '%C0%80', '%ED%A0%80', '%F4%90%80%80'];

/** A target one of whose parameters, by value or by name, has a malformed escape. */
export function malformedEscape(random: SeededRandom, target: string): string {
  const escape = random.pick(malformedEscapes);
  return `${target}${target.includes('?') ? '&' : '?'}${random.pick([`watch=${escape}`, `limit=${escape}`, `x=1${escape}`, `${escape}=1`, escape])}`;
}

/** Halves of surrogate pairs replaced. */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}

export function percent(text: string): string {
  return encodeURIComponent(wellFormed(text));
}
