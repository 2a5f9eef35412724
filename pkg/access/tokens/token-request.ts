import {
  decodeJson,
  decodeYamlInTurns,
  isJsonObject,
  newBadRequest,
  newForbidden,
  newInvalid,
  fieldError,
  type DecodeResult,
  type JsonObject,
} from '#pkg/apimachinery/index';
import { parseContentType, readBody, type RequestContext, type TrustedProxies } from '#pkg/http/index';
import { isUuid } from '../operations/uuid.ts';
import { tokenKind, tokenResource, tokenVersion } from './personal-token.ts';
import type { TokenOwner } from './personal-tokens.ts';
import { readTokenDraft, type TokenDraft } from './token-draft.ts';

const bodyLimit = 256 * 1024;
const bodyTypes = ['application/json', 'application/yaml', 'text/yaml'] as const;
const fieldValidations = ['', 'Ignore', 'Strict', 'Warn'];

/**
 * The user whose tokens the request concerns. Throws StatusError 403 for a caller that is no user of the access service
 * (a plugin, a controller), and for impersonation: a token would outlive the permission to impersonate.
 */
export function tokenOwnerOf({ id, request, user, impersonator }: RequestContext, proxies: TrustedProxies): TokenOwner {
  if (impersonator !== undefined)
    throw newForbidden(tokenResource, '', 'personal tokens are not for those who act as somebody else');
  if (!isUuid(user.uid))
    throw newForbidden(tokenResource, '', 'only users of the access management service have personal tokens');
  return { user, address: proxies.addressOf(request), requestId: id };
}

/** Dry run is not supported: StatusError 400. */
export function refuseDryRun({ query }: RequestContext): void {
  if (query.has('dryRun')) throw newBadRequest('dryRun is not supported here');
}

/** Selectors are not supported, as lists are short: StatusError 400. */
export function refuseSelectors({ query }: RequestContext): void {
  for (const name of ['labelSelector', 'fieldSelector']) {
    if (query.getAll(name).some((value) => value !== ''))
      throw newBadRequest(`${name} is not supported here: personal tokens are listed all together`);
  }
}

/**
 * Reads the draft in the body, JSON or YAML. Unknown and duplicate fields are warnings, unless `fieldValidation` says
 * otherwise. Throws StatusError 400, 408, 413, 415, 422.
 */
export async function readDraft(context: RequestContext): Promise<TokenDraft> {
  const fieldValidation = readFieldValidation(context);
  const { value, duplicates, dropped } = await decodeBody(context, await readBody(context, { maxBytes: bodyLimit }));
  if (!isJsonObject(value)) throw newBadRequest('the body of the request must be an object');
  checkType(value);
  const { draft, unknown } = readTokenDraft(value);
  const findings = [
    ...duplicates.map((path) => `duplicate field "${path}"`),
    ...[...dropped, ...unknown].slice(0, 100).map((path) => `unknown field "${path.slice(0, 253)}"`),
  ];
  if (findings.length > 0 && fieldValidation === 'Strict') {
    const { kind } = tokenKind;
    throw newBadRequest(
      `${kind} in version "${tokenVersion}" cannot be handled as a ${kind}: strict decoding error: ${findings.join(', ')}`,
    );
  }
  if (fieldValidation !== 'Ignore') context.warnings.push(...findings);
  return draft;
}

/**
 * Checks the options in the body of a DELETE; those that would change its effect are refused. Throws StatusError 400,
 * 408, 413, 415.
 */
export async function checkDeleteOptions(context: RequestContext): Promise<void> {
  refuseDryRun(context);
  const bytes = await readBody(context, { maxBytes: bodyLimit });
  if (bytes.length === 0) return;
  const { value } = await decodeBody(context, bytes);
  if (!isJsonObject(value)) throw newBadRequest('the body of the request must be an object');
  for (const name of ['dryRun', 'preconditions'])
    if (Object.hasOwn(value, name) && value[name] !== null) throw newBadRequest(`${name} is not supported here`);
}

async function decodeBody({ request, bytes: memory }: RequestContext, bytes: Buffer): Promise<DecodeResult> {
  const { type } = parseContentType(request.headers['content-type'], bodyTypes);
  if (bytes.length === 0) throw newBadRequest('the body of the request is empty');
  await memory.parse(bytes.length);
  return type === 'application/json' ? decodeJson(bytes) : decodeYamlInTurns(bytes);
}

function readFieldValidation({ query }: RequestContext): string {
  const value = query.get('fieldValidation') ?? '';
  if (!fieldValidations.includes(value))
    throw newInvalid({ group: 'meta.k8s.io', kind: 'CreateOptions' }, '', [
      fieldError.notSupported('fieldValidation', value, fieldValidations),
    ]);
  return value;
}

function checkType({ apiVersion, kind }: JsonObject): void {
  const expected = { apiVersion: `${tokenKind.group}/${tokenVersion}`, kind: tokenKind.kind };
  for (const [name, found, wanted] of [
    ['API version', apiVersion, expected.apiVersion],
    ['kind', kind, expected.kind],
  ] as const) {
    if (found === undefined || found === null || found === '' || found === wanted) continue;
    throw newBadRequest(
      `the ${name} in the data (${typeof found === 'string' ? found.slice(0, 253) : typeof found}) does not match the expected ${name} (${wanted})`,
    );
  }
}
