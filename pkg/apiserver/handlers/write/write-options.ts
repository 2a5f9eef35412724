import { fieldError, newInvalid, type StatusCause } from '#pkg/apimachinery/index';
import type { WriteContext } from '../../rest/write-context.ts';
import { singleParameter } from '../request/query-parameter.ts';

const maxFieldManagerBytes = 128;
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** The options every write takes in its query. */
export interface WriteParameters {
  dryRun: boolean;
  fieldValidation: WriteContext['fieldValidation'];
}

/** Which options a failure speaks of. */
export type WriteOptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions';

/**
 * Reads `dryRun`, `fieldValidation` and `fieldManager`; any other parameter is ignored, as Kubernetes clients send
 * some. An empty `dryRun` is refused too: taken for absent, it would store what was meant to be tried.
 * @throws StatusError 400 for one given twice, 422 for a value that is not known.
 */
export function parseWriteOptions(query: URLSearchParams, kind: WriteOptionsKind): WriteParameters {
  const dryRun = singleParameter(query, 'dryRun');
  const fieldValidation = singleParameter(query, 'fieldValidation') ?? '';
  const causes: StatusCause[] = [];
  if (dryRun !== undefined && dryRun !== 'All') causes.push(fieldError.notSupported('dryRun', dryRun, ['All']));
  if (!isFieldValidation(fieldValidation))
    causes.push(fieldError.notSupported('fieldValidation', fieldValidation, ['', 'Ignore', 'Strict', 'Warn']));
  causes.push(...fieldManagerCauses(singleParameter(query, 'fieldManager') ?? ''));
  if (causes.length > 0 || !isFieldValidation(fieldValidation)) throw newInvalidOptions(kind, causes);
  return { dryRun: dryRun !== undefined, fieldValidation: fieldValidation === '' ? 'Warn' : fieldValidation };
}

export function newInvalidOptions(kind: WriteOptionsKind, causes: readonly StatusCause[]): Error {
  return newInvalid({ group: 'meta.k8s.io', kind }, '', causes);
}

function isFieldValidation(text: string): text is '' | WriteContext['fieldValidation'] {
  return text === '' || text === 'Ignore' || text === 'Warn' || text === 'Strict';
}

function fieldManagerCauses(manager: string): StatusCause[] {
  if (Buffer.byteLength(manager) > maxFieldManagerBytes)
    return [fieldError.tooLong('fieldManager', maxFieldManagerBytes)];
  return unprintable.test(manager)
    ? [fieldError.invalid('fieldManager', manager, 'should only contain printable characters')]
    : [];
}
