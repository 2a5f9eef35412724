import {
  fieldError,
  isJsonObject,
  validateName,
  type AnyObject,
  type Condition,
  type GroupResource,
  type JsonObject,
  type JsonValue,
  type ObjectMeta,
  type ResourceType,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { parseQuantity } from './quantity.ts';

/** Limits what the objects of its namespace take. Source: core/v1 ResourceQuota; conditions are our own. */
export interface ResourceQuota extends AnyObject {
  metadata: ObjectMeta;
  spec?: { hard?: Record<string, string> };
  status?: { hard?: Record<string, string>; used?: Record<string, string>; conditions?: Condition[] };
}

export const resourceQuotaType: ResourceType<ResourceQuota> = {
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
  hasStatusSubresource: true,
};

/** One entry of `spec.hard`, by its name. */
export interface QuotaMeasure {
  of: 'count' | 'bytes';
  /** Absent for `bytes`: the objects of all models. */
  resource?: GroupResource;
}

const maxMeasures = 100;
const nameRule =
  'must be count/<plural>.<group>, bytes/<plural>.<group> or bytes; a model of the core group has no .<group>';
const valueRule = 'must be a whole number of at least 0, as 10, 5k or 1Gi';

/** Reads a name in `spec.hard`; undefined if it is none, or names quotas themselves, which are under no limit. */
export function parseMeasure(name: string): QuotaMeasure | undefined {
  if (name === 'bytes') return { of: 'bytes' };
  const [, of, resource, group = ''] = /^(count|bytes)\/([^./]+)(?:\.([^/]+))?$/.exec(name) ?? [];
  if (of === undefined || resource === undefined || validateName(resource, 'dns-label') !== undefined) return undefined;
  if (group !== '' && validateName(group, 'dns-subdomain') !== undefined) return undefined;
  if (group === resourceQuotaType.group && resource === resourceQuotaType.plural) return undefined;
  return { of: of as QuotaMeasure['of'], resource: { group, resource } };
}

/** Whole numbers up to 2^53 - 1; larger ones count as that, and limit nothing. */
export function parseLimit(value: string): number | undefined {
  const limit = parseQuantity(value);
  return limit === undefined || !Number.isInteger(limit) ? undefined : Math.min(limit, Number.MAX_SAFE_INTEGER);
}

/** Turns numbers in `spec.hard` into text, as Kubernetes does. Changes `quota` in place; its types may be wrong. */
export function defaultResourceQuota({ spec }: JsonObject): void {
  const hard = isJsonObject(spec) ? spec['hard'] : undefined;
  if (!isJsonObject(hard)) return;
  for (const [name, value] of Object.entries(hard)) if (typeof value === 'number') hard[name] = String(value);
}

/** Errors in the limits of a quota. The schema checks the types. */
export function validateResourceQuota({ spec }: JsonObject): StatusCause[] {
  if (!isJsonObject(spec)) return [];
  const { hard, scopes, scopeSelector } = spec;
  const causes: StatusCause[] = [];
  for (const [field, value] of Object.entries({ scopes, scopeSelector }))
    if (isGiven(value)) causes.push(fieldError.forbidden(`spec.${field}`, 'quotas have no scopes here'));
  const entries = isJsonObject(hard) ? Object.entries(hard) : [];
  if (entries.length > maxMeasures) return [...causes, fieldError.tooMany('spec.hard', entries.length, maxMeasures)];
  for (const [name, value] of entries) {
    const field = `spec.hard[${name}]`;
    if (parseMeasure(name) === undefined) causes.push(fieldError.invalid(field, name, nameRule));
    if (typeof value !== 'string' || parseLimit(value) === undefined)
      causes.push(fieldError.invalid(field, value, valueRule));
  }
  return causes;
}

function isGiven(value: JsonValue | undefined): boolean {
  return isJsonObject(value) ? Object.keys(value).length > 0 : Array.isArray(value) && value.length > 0;
}
