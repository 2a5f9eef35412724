import type { Cell } from './cells/cell.ts';
import type { Fault } from './model/verdict.ts';
import { curlOf, type MatrixRequest, type ServerName } from './wire/matrix-request.ts';
import type { MatrixAnswer } from './wire/matrix-client.ts';

/** Printed differences of each kind; the rest is counted. */
const shownOfAKind = 2;
const shownText = 300;

interface Kind {
  readonly shown: string[];
  count: number;
}

/** The differences between responses and contract. */
export class MatrixReport {
  passed = 0;
  failed = 0;
  readonly #kinds = new Map<string, Kind>();
  readonly #origins: Readonly<Record<ServerName, string>>;

  constructor(origins: Readonly<Record<ServerName, string>>) {
    this.#origins = origins;
  }

  difference(
    fault: Fault,
    { cell, request, answer }: { cell: Cell; request: MatrixRequest; answer: MatrixAnswer },
  ): void {
    const { facts, verdict, number, credential, reviews } = cell;
    const expected = `${verdict.allowed ? 'allowed' : 'refused'}, ${verdict.status.join(' or ')}${verdict.code === undefined ? '' : ` ${verdict.code}`}${reviews === undefined ? '' : `, allowed: ${reviews}`} (${verdict.why})`;
    const lines = [
      `cell ${number}, ${credential}`,
      ...Object.entries(facts).map(([name, value]) => `${name}: ${value}`),
      `expected: ${expected}`,
      `answered: ${answer.status} ${answer.text.slice(0, shownText)}`,
      curlOf(request, this.#origins[request.server]),
    ];
    const route = facts['route']!.split(' {"')[0]!.replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '...');
    this.problem(
      `${fault}: ${route}; expected ${verdict.status.join(' or ')}, answered ${answer.status}`,
      lines.join('\n    '),
    );
  }

  /** Any other problem, grouped by `kind`. */
  problem(kind: string, text: string): void {
    this.failed += 1;
    const known = this.#kinds.get(kind) ?? { shown: [], count: 0 };
    known.count += 1;
    if (known.shown.length < shownOfAKind) known.shown.push(text);
    this.#kinds.set(kind, known);
  }

  get failures(): string[] {
    return [...this.#kinds]
      .toSorted(([, one], [, other]) => other.count - one.count)
      .map(([kind, { count, shown }]) => `${count} x ${kind}\n${shown.map((text) => `    ${text}`).join('\n')}`);
  }

  toString(): string {
    return [...this.failures, `${this.passed} passed, ${this.failed} failed`].join('\n');
  }
}
