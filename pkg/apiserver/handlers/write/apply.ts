import {
  fieldError,
  isJsonObject,
  isStatusError,
  newBadRequest,
  type DecodeResult,
  type JsonObject,
  type ObjectKey,
  type ScaleSubresource,
} from '#pkg/apimachinery/index';
import { scaleKind } from '../../rest/scale-object.ts';
import type { Representation } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import type { AnswerFormat } from '../answer/answer-format.ts';
import { answerObject, type ObjectView } from '../answer/answer-object.ts';
import { checkKey, checkTypeMeta, dropInheritedRevision } from '../request/object-identity.ts';
import { singleParameter } from '../request/query-parameter.ts';
import { decode, type RawBody } from '../request/request-body.ts';
import { objectLocation, requestedKey, servedKind, type ResourceRequest } from '../request/resource-request.ts';
import { findEarlierOutcome, newWriteContext, readIfMatch } from './write-headers.ts';
import { newInvalidOptions, type WriteParameters } from './write-options.ts';

export const applyPatchType = 'application/apply-patch+yaml';

export interface ApplyPatchRun {
  subresource: '' | 'status';
  /** Set if the configuration is a Scale. */
  scale?: ScaleSubresource;
  format: AnswerFormat;
  options: WriteParameters;
  body: RawBody;
  /** Default: the response is the object itself. */
  view?: ObjectView;
}

/** The options that only an apply patch has, or must have. @throws StatusError 422. Source: ValidatePatchOptions. */
export function checkApplyOptions({ fieldManager }: Pick<WriteParameters, 'fieldManager'>): void {
  if (fieldManager !== '') return;
  throw newInvalidOptions('PatchOptions', [fieldError.required('fieldManager', 'is required for apply patch')]);
}

/** Server-side apply: PATCH with the fields that a manager wants; creates an object that does not exist. */
export async function runApply(
  request: ResourceRequest,
  { subresource, scale, format, options, body, view }: ApplyPatchRun,
): Promise<void> {
  const { context, served, authorizeCreate } = request;
  const answer = (isCreated: boolean, object: Representation, dryRun = false): Promise<void> => {
    const headers = isCreated && !dryRun ? { headers: { Location: objectLocation(served, object) } } : {};
    return answerObject(request, object, { status: isCreated ? 201 : 200, format, view, dryRun, ...headers });
  };
  const { idempotency, earlier } = await findEarlierOutcome(request, body.bytes, options.dryRun);
  if (earlier !== undefined) return answer(earlier.type === 'create', earlier.object);
  const write = newWriteContext(context, options, idempotency);
  const { config, findings } = await decodeConfiguration(body, write);
  const kind = scale === undefined ? servedKind(served) : scaleKind;
  checkTypeMeta(config, kind);
  const key = requestedKey(request);
  const mayCreate = subresource === '' && scale === undefined && context.request.headers['if-match'] === undefined;
  const { isCreated, object } = await served.storage.apply(
    {
      key,
      subresource,
      ...(scale === undefined ? {} : { scale }),
      preconditions: readIfMatch(context),
      force: isForced(context.query),
      config,
      check: (applied, current) => {
        reportFindings(findings, write);
        checkApplied(applied, current, key);
      },
      ...(mayCreate ? { authorizeCreate: async () => authorizeCreate?.(context) } : {}),
    },
    write,
  );
  await answer(isCreated, object, options.dryRun);
}

/** Checks the object that results from an apply. `current` is the stored one, if there is one. @throws StatusError 400 */
export function checkApplied(applied: JsonApiObject, current: JsonApiObject | undefined, key: ObjectKey): void {
  checkKey(applied, key);
  if (current !== undefined) dropInheritedRevision(applied, current);
}

/** Any value but `false` and `0` is true. Source: k8s.io/apimachinery, conversion of query parameters. */
function isForced(query: URLSearchParams): boolean {
  const force = singleParameter(query, 'force');
  return force !== undefined && !['false', '0'].includes(force.toLowerCase());
}

interface Configuration {
  config: JsonApiObject;
  /** Duplicate and dropped keys. */
  findings: string[];
}

async function decodeConfiguration(body: RawBody, write: WriteContext): Promise<Configuration> {
  const { value, duplicates, dropped } = await decodeYamlOrJson(body, write.signal);
  if (!isJsonObject(value)) throw newBadRequest('the body of the request must be an object');
  if (write.requestAudit !== undefined) write.requestAudit.requestObject = value;
  const findings = [
    ...duplicates.map((path) => `duplicate field "${path}"`),
    ...dropped.map((path) => `unknown field "${path}"`),
  ];
  return { config: value as JsonObject & JsonApiObject, findings };
}

/** JSON is YAML, but is decoded much faster as JSON: all clients send it. */
async function decodeYamlOrJson(body: RawBody, signal: AbortSignal): Promise<DecodeResult> {
  const isObject = body.bytes.subarray(0, 64).toString('latin1').trimStart().startsWith('{');
  if (!isObject) return decode(body, signal);
  try {
    return await decode({ ...body, isYaml: false }, signal);
  } catch (error) {
    if (!isStatusError(error, 'BadRequest')) throw error;
    return decode(body, signal);
  }
}

/** After the merge, as in Kubernetes, so that conflicts come first. @throws StatusError 400 under Strict */
function reportFindings(findings: readonly string[], write: WriteContext): void {
  if (findings.length === 0 || write.fieldValidation === 'Ignore') return;
  if (write.fieldValidation === 'Strict') throw newBadRequest(`error strict decoding patch: ${findings.join(', ')}`);
  for (const text of findings) write.warn(text);
}
