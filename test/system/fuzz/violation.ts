/** The kinds of violations. */
export type Rule =
  | 'no answer'
  | 'malformed answer'
  | 'unnamed 5xx'
  | 'unknown status'
  | 'failure body'
  | 'success body'
  | 'headers'
  | 'causes'
  | 'leak'
  | 'state changed'
  | 'wrong answer'
  | 'server log'
  | 'server gone'
  | 'server silent'
  | 'event loop blocked';

export interface Violation {
  rule: Rule;
  detail: string;
}

export function violation(rule: Rule, detail: string): Violation {
  return { rule, detail };
}
