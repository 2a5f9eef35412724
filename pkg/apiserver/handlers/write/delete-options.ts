import { fieldError, isJsonObject, newBadRequest, type JsonObject, type StatusCause } from '#pkg/apimachinery/index';
import type { DeleteRequest, Preconditions } from '../../rest/served-resource.ts';
import { booleanParameter, countParameter, textParameter } from '../request/query-parameter.ts';
import { decode, type RawBody } from '../request/request-body.ts';
import { newInvalidOptions, parseWriteOptions, type WriteParameters } from './write-options.ts';

type PropagationPolicy = NonNullable<DeleteRequest['propagationPolicy']>;

export interface DeleteParameters {
  write: WriteParameters;
  preconditions: Preconditions;
  propagationPolicy?: PropagationPolicy;
}

const policies: readonly string[] = ['Background', 'Foreground', 'Orphan'];

/**
 * Parses the options of a DELETE from its query and its body, which may be empty. Unknown fields of the body are
 * ignored, as in the query. `dryRun` in either makes the request a dry run, because an unwanted deletion would be the
 * worse mistake. For all other options the body takes precedence. `gracePeriodSeconds` is validated and has no effect.
 * Source: metav1.DeleteOptions.
 * @throws StatusError 400 for a malformed value, 422 for an unknown value.
 */
export async function parseDeleteOptions(query: URLSearchParams, body: RawBody): Promise<DeleteParameters> {
  const write = parseWriteOptions(query, 'DeleteOptions');
  countParameter(query, 'gracePeriodSeconds');
  const given = body.bytes.length === 0 ? {} : await decodeOptions(body);
  const dryRun = readDryRun(given);
  const asked = readText(given, 'propagationPolicy') ?? textParameter(query, 'propagationPolicy');
  const orphans = readBoolean(given, 'orphanDependents') ?? booleanParameter(query, 'orphanDependents');
  const causes: StatusCause[] = dryRun
    .filter((value) => value !== 'All')
    .map((value) => fieldError.notSupported('dryRun', value, ['All']));
  if (asked !== undefined && !policies.includes(asked))
    causes.push(fieldError.notSupported('propagationPolicy', asked, policies));
  if (asked !== undefined && orphans !== undefined) {
    causes.push(
      fieldError.invalid('propagationPolicy', asked, 'orphanDependents and deletionPropagation cannot be both set'),
    );
  }
  checkGracePeriod(given);
  if (causes.length > 0) throw newInvalidOptions('DeleteOptions', causes);
  const policy = asked ?? (orphans === undefined ? undefined : orphans ? 'Orphan' : 'Background');
  return {
    write: { ...write, dryRun: write.dryRun || dryRun.length > 0 },
    preconditions: readPreconditions(given),
    ...(policy === undefined ? {} : { propagationPolicy: policy as PropagationPolicy }),
  };
}

async function decodeOptions(body: RawBody): Promise<JsonObject> {
  const { value } = await decode(body);
  if (!isJsonObject(value)) throw newBadRequest('the body of the request must be DeleteOptions');
  const kind = readText(value, 'kind');
  // Clients send the group and version of the resource, of `meta.k8s.io` or of the core group.
  readText(value, 'apiVersion');
  if (kind !== undefined && kind !== 'DeleteOptions')
    throw newBadRequest('the body of the request must be of kind DeleteOptions');
  return value;
}

function readDryRun(options: JsonObject): unknown[] {
  const value = options['dryRun'] ?? [];
  if (!Array.isArray(value)) throw newWrongType('dryRun', 'an array of strings');
  return value.slice(0, 10);
}

function readPreconditions(options: JsonObject): Preconditions {
  const given = options['preconditions'] ?? {};
  if (!isJsonObject(given)) throw newWrongType('preconditions', 'an object');
  const uid = readText(given, 'uid', 'preconditions.');
  const resourceVersion = readText(given, 'resourceVersion', 'preconditions.');
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}

function checkGracePeriod(options: JsonObject): void {
  const value = options['gracePeriodSeconds'] ?? 0;
  if (!Number.isSafeInteger(value) || Number(value) < 0)
    throw newWrongType('gracePeriodSeconds', 'a whole number, 0 or greater');
}

function readText(object: JsonObject, name: string, prefix = ''): string | undefined {
  const value = object[name] ?? undefined;
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw newWrongType(prefix + name, 'a string');
  return value;
}

function readBoolean(object: JsonObject, name: string): boolean | undefined {
  const value = object[name] ?? undefined;
  if (value !== undefined && typeof value !== 'boolean') throw newWrongType(name, 'a boolean');
  return value;
}

function newWrongType(field: string, expected: string): Error {
  const detail = `must be ${expected}`;
  return newBadRequest(`DeleteOptions: ${field}: ${detail}`, [
    { reason: 'FieldValueTypeInvalid', message: detail, field },
  ]);
}
