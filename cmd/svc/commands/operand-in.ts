import { OperatorError } from '../options/operator-error.ts';

/** The first word of a command's arguments, which an option cannot be: `usage` tells where `what` belongs. */
export function operandIn([operand = '']: readonly string[], { what, usage }: { what: string; usage: string }): string {
  if (operand.startsWith('-')) throw new OperatorError(`The ${what} comes before the options: ${usage}.`);
  return operand;
}
