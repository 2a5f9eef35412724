import { printable } from './printable.ts';

/** A mistake in an audit policy. Its message is one sentence: the path of the field, and the rule that it breaks. */
export class AuditPolicyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(printable(message), options);
    this.name = 'AuditPolicyError';
  }
}
