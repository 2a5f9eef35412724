import { nearestName } from '#pkg/apimachinery/index';
import { OperatorError } from './operator-error.ts';
import type { OptionName } from './option-table.ts';

/** What one spelling says about one option. */
export interface Setting {
  readonly name: OptionName;
  /** Not parsed yet; '' stands for the default. */
  readonly text: string;
  /** As the operator wrote it: `SVC_SERVER_PORT`, `--svc.server.port`, `svc.server.port in config/svc.yaml`. */
  readonly spelling: string;
  /** The file it is in. */
  readonly file?: string;
}

/** The sentence for a name nobody knows. It never holds a value: that may be a secret whose name is misspelled. */
export function newUnknownOption(what: string, name: string, candidates: readonly string[]): OperatorError {
  const nearest = nearestName(name, candidates);
  return new OperatorError(
    `There is no ${what}; ${nearest === undefined ? 'svc --help lists them all.' : `did you mean ${nearest}?`}`,
  );
}
