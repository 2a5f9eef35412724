import {
  fieldError,
  isJsonObject,
  newInvalid,
  parseTimestamp,
  validateName,
  type JsonObject,
  type JsonValue,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { isPersonalToken } from '#pkg/identity/index';
import { tokenKind } from './personal-token.ts';

const maxTextLength = 253;
const maxRoles = 64;
const tokenForm = /pat_[0-9A-Za-z]{36}/g;

/** The requested properties of a new token. */
export interface TokenDraft {
  /** Absent: generated from `generateName` and five random characters. */
  name?: string | undefined;
  /** Default `pat-`. */
  generateName?: string | undefined;
  displayName?: string | undefined;
  /** RFC 3339; absent: never expires. */
  expiresAt?: string | undefined;
  /** ClusterRoles; absent: all rights of its owner, or those of a restricted credential. */
  roles?: readonly string[] | undefined;
}

/** Fields that the server sets, ignored when a client sends an object back. */
const setByServer: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'selfLink',
  'managedFields',
]);

/**
 * Reads the draft from an object, and returns the paths of unknown fields. Null counts as absent. Throws StatusError
 * 422 for values of other types.
 */
export function readTokenDraft(body: JsonObject): { draft: TokenDraft; unknown: string[] } {
  const reader = new DraftReader();
  const { apiVersion: _apiVersion, kind: _kind, status: _status, metadata, spec, ...others } = body;
  const { name, generateName, ...otherMetadata } = reader.object('metadata', metadata);
  const { displayName, expiresAt, roles, ...otherSpec } = reader.object('spec', spec);
  const draft = {
    // An empty name counts as absent, as in Kubernetes.
    name: reader.text('metadata.name', name) || undefined,
    generateName: reader.text('metadata.generateName', generateName) || undefined,
    displayName: reader.text('spec.displayName', displayName),
    expiresAt: reader.text('spec.expiresAt', expiresAt),
    roles: reader.texts('spec.roles', roles),
  };
  if (reader.causes.length > 0) throw newInvalid(tokenKind, draft.name ?? '', reader.causes);
  const metadataNames = Object.keys(otherMetadata).filter((key) => !setByServer.has(key));
  return {
    draft,
    unknown: [
      ...Object.keys(others),
      ...metadataNames.map((key) => `metadata.${key}`),
      ...Object.keys(otherSpec).map((key) => `spec.${key}`),
    ],
  };
}

class DraftReader {
  readonly causes: StatusCause[] = [];

  object(field: string, value: JsonValue | undefined): JsonObject {
    if (isJsonObject(value)) return value;
    if (!isAbsent(value)) this.causes.push(fieldError.typeInvalid(field, value, 'must be an object'));
    return {};
  }

  text(field: string, value: JsonValue | undefined): string | undefined {
    if (typeof value === 'string') return value;
    if (!isAbsent(value)) this.causes.push(fieldError.typeInvalid(field, value, 'must be a string'));
    return undefined;
  }

  texts(field: string, value: JsonValue | undefined): string[] | undefined {
    if (isAbsent(value)) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
    this.causes.push(fieldError.typeInvalid(field, value, 'must be an array of strings'));
    return undefined;
  }
}

function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null;
}

/** Causes for fields that hold a token, which lists would show and other causes would repeat. These causes do not. */
export function credentialCauses({ name, generateName, displayName, expiresAt, roles }: TokenDraft): StatusCause[] {
  const texts: [string, string | undefined][] = [
    ['metadata.name', name],
    ['metadata.generateName', generateName],
    ['spec.displayName', displayName],
    ['spec.expiresAt', expiresAt],
    ['spec.roles', roles?.join(' ')],
  ];
  return texts.flatMap(([field, text = '']) =>
    (text.match(tokenForm) ?? []).some((candidate) => isPersonalToken(candidate))
      ? [fieldError.forbidden(field, 'it holds a personal token')]
      : [],
  );
}

/** Faults of the draft that do not depend on the caller. */
export function draftCauses({
  name,
  generateName,
  displayName = '',
  expiresAt,
  roles = [],
}: TokenDraft): StatusCause[] {
  const causes: StatusCause[] = [];
  // A generated name is the prefix, shortened if needed, with a letter or digit at the end.
  const rule = validateName(name ?? `${(generateName ?? '').slice(0, 252)}x`, 'model');
  if (rule !== undefined)
    causes.push(
      name === undefined
        ? fieldError.invalid('metadata.generateName', generateName, rule)
        : fieldError.invalid('metadata.name', name, rule),
    );
  if (displayName.length > maxTextLength) causes.push(fieldError.tooLong('spec.displayName', maxTextLength));
  else if (/\p{Cc}/u.test(displayName))
    causes.push(fieldError.invalid('spec.displayName', displayName, 'must not hold control characters'));
  const expires = expiresAt === undefined ? undefined : parseTimestamp(expiresAt);
  if (expiresAt !== undefined && expires === undefined)
    causes.push(
      fieldError.invalid('spec.expiresAt', expiresAt, 'must be an RFC 3339 timestamp, such as 2027-01-31T09:30:00Z'),
    );
  if (expires !== undefined && expires <= Date.now())
    causes.push(fieldError.invalid('spec.expiresAt', expiresAt, 'must be in the future'));
  return [...causes, ...roleCauses(roles)];
}

function roleCauses(roles: readonly string[]): StatusCause[] {
  if (roles.length > maxRoles) return [fieldError.tooMany('spec.roles', roles.length, maxRoles)];
  return roles.flatMap((role, index) => {
    const field = `spec.roles[${index}]`;
    const rule = validateName(role, 'path-segment');
    if (rule !== undefined) return [fieldError.invalid(field, role, rule)];
    return roles.indexOf(role) < index ? [fieldError.duplicate(field, role)] : [];
  });
}
