import { nearestName } from '#pkg/apimachinery/index';
import { OperatorError } from './operator-error.ts';
import type { OptionName } from './option-table.ts';

/** The value of one option in one source. */
export interface Setting {
  readonly name: OptionName;
  /** Not parsed yet; '' stands for the default. */
  readonly text: string;
  /** As the operator wrote it: `SVC_SERVER_PORT`, `--svc.server.port`, `svc.server.port in config/svc.yaml`. */
  readonly spelling: string;
  /** The file it is in. */
  readonly file?: string;
}

/** The error for an unknown name. It never contains a value, which may be a secret with a misspelled name. */
export function newUnknownOption(what: string, name: string, candidates: readonly string[]): OperatorError {
  const nearest = nearestName(name, candidates);
  return new OperatorError(
    `There is no ${what}; ${nearest === undefined ? 'svc --help lists them all.' : `did you mean ${nearest}?`}`,
  );
}
