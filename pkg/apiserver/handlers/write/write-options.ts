import { fieldError, fieldManagerCauses, newInvalid, type StatusCause } from '#pkg/apimachinery/index';
import type { WriteContext } from '../../rest/write-context.ts';
import { singleParameter } from '../request/query-parameter.ts';

/** The query options of every write. */
export interface WriteParameters {
  dryRun: boolean;
  fieldValidation: WriteContext['fieldValidation'];
  /** '' if the request names none. */
  fieldManager: string;
}

/** The kind that an error message names. */
export type WriteOptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions';

/**
 * Parses `dryRun`, `fieldValidation` and `fieldManager`; ignores any other parameter, because Kubernetes clients send
 * some. An empty `dryRun` is rejected: if it counted as absent, the server would store a write that the client meant as
 * a test.
 * @throws StatusError 400 for a parameter given twice, 422 for an unknown value.
 */
export function parseWriteOptions(query: URLSearchParams, kind: WriteOptionsKind): WriteParameters {
  const dryRun = singleParameter(query, 'dryRun');
  const fieldValidation = singleParameter(query, 'fieldValidation') ?? '';
  const causes: StatusCause[] = [];
  if (dryRun !== undefined && dryRun !== 'All') causes.push(fieldError.notSupported('dryRun', dryRun, ['All']));
  if (!isFieldValidation(fieldValidation))
    causes.push(fieldError.notSupported('fieldValidation', fieldValidation, ['', 'Ignore', 'Strict', 'Warn']));
  const fieldManager = singleParameter(query, 'fieldManager') ?? '';
  causes.push(...fieldManagerCauses(fieldManager));
  if (causes.length > 0 || !isFieldValidation(fieldValidation)) throw newInvalidOptions(kind, causes);
  return {
    dryRun: dryRun !== undefined,
    fieldValidation: fieldValidation === '' ? 'Warn' : fieldValidation,
    fieldManager,
  };
}

export function newInvalidOptions(kind: WriteOptionsKind, causes: readonly StatusCause[]): Error {
  return newInvalid({ group: 'meta.k8s.io', kind }, '', causes);
}

function isFieldValidation(text: string): text is '' | WriteContext['fieldValidation'] {
  return text === '' || text === 'Ignore' || text === 'Warn' || text === 'Strict';
}
