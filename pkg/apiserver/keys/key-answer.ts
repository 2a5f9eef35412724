import type { ComputedResult } from '#pkg/apimachinery/index';
import type { KeyProblem } from './key-messages.ts';

// Answers of the process are validated like input of a client, because user functions have run in it.

/** Characters of a message about a script or a function. */
const maxMessageLength = 1000;
const unreadable: ComputedResult = { fault: 'what its functions gave cannot be read' };

/** Undefined if it is not an answer. */
export function readAnswerId(answer: unknown): unknown {
  return fieldOf(answer, 'id');
}

/** Undefined if the answer has none. */
export function readProblems(answer: unknown): KeyProblem[] | undefined {
  const problems = fieldOf(answer, 'problems');
  if (!Array.isArray(problems)) return undefined;
  return problems.map((problem: unknown) => {
    const name = fieldOf(problem, 'function');
    const message = fieldOf(problem, 'message');
    return {
      ...(typeof name === 'string' && { function: name }),
      message: typeof message === 'string' ? message.slice(0, maxMessageLength) : 'it cannot be read',
    };
  });
}

/**
 * A row for each of the first objects, with a result for each call; undefined if the answer has no rows, or too many.
 */
export function readRows(answer: unknown, objects: number, calls: number): ComputedResult[][] | undefined {
  const rows = fieldOf(answer, 'rows');
  if (!Array.isArray(rows) || rows.length === 0 || rows.length > objects) return undefined;
  return rows.map((row: unknown) => resultsIn(row, calls));
}

function resultsIn(row: unknown, calls: number): ComputedResult[] {
  const results = parsed(row);
  return Array.from({ length: calls }, (_, i) =>
    Array.isArray(results) && results.length === calls ? resultIn(results[i]) : unreadable,
  );
}

function resultIn(result: unknown): ComputedResult {
  const fault = fieldOf(result, 'f');
  if (typeof fault === 'string') return { fault: fault.slice(0, maxMessageLength) };
  const values = fieldOf(result, 'v');
  return Array.isArray(values) &&
    values.every((value) => ['string', 'boolean'].includes(typeof value) || Number.isFinite(value))
    ? { values }
    : unreadable;
}

function parsed(json: unknown): unknown {
  try {
    return typeof json === 'string' ? JSON.parse(json) : undefined;
  } catch {
    return undefined;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
