import {
  formatGroupResource,
  formatTimestamp,
  isJsonObject,
  type Condition,
  type JsonObject,
  type JsonValue,
} from '#pkg/apimachinery/index';
import { parseLimit, parseMeasure, setCondition, type ResourceQuota } from '#pkg/apis/index';
import type { QuotaLimits, QuotaUsage } from '#pkg/storage/index';

/** What the quotas of one namespace allow together: of each limit the smallest, with the first quota that sets it. */
export function limitsOf(quotas: readonly ResourceQuota[]): QuotaLimits[] {
  const limits = new Map<string, QuotaLimits>();
  const ordered = quotas.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const { metadata, spec } of ordered) {
    for (const [name, value] of entriesOf(spec?.hard)) {
      const measure = parseMeasure(name);
      const max = parseLimit(value);
      if (measure === undefined || max === undefined) continue;
      const { of, resource } = measure;
      const key = keyOf(measure);
      const limit = limits.get(key) ?? (resource === undefined ? {} : { resource });
      if (max < (limit[of]?.max ?? Infinity)) limit[of] = { max, quota: metadata.name };
      limits.set(key, limit);
    }
  }
  return [...limits.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, limit]) => limit);
}

/** Are these the limits in force? */
export function areInForce(limits: readonly QuotaLimits[], usages: readonly QuotaUsage[]): boolean {
  const known = new Map(usages.map((usage) => [keyOf(usage.limits), usage.limits]));
  return limits.length === known.size && limits.every((limit) => isSame(limit, known.get(keyOf(limit))));
}

/** The status of a quota whose namespace uses this. A limit on a model that does not exist is not used. */
export function statusOf({ spec, status }: ResourceQuota, usages: readonly QuotaUsage[], now: number): JsonObject {
  const byKey = new Map(usages.map((usage) => [keyOf(usage.limits), usage]));
  const measured = entriesOf(spec?.hard).flatMap(([name]) => {
    const measure = parseMeasure(name);
    if (measure === undefined) return [];
    const usage = byKey.get(keyOf(measure));
    return [{ name, used: usage?.[measure.of] ?? 0, isCounted: usage?.isCounted ?? true }];
  });
  const isCounted = measured.every((each) => each.isCounted);
  const condition: Omit<Condition, 'lastTransitionTime'> = isCounted
    ? { type: 'Counted', status: 'True', reason: 'Counted', message: 'the quota is in force' }
    : {
        type: 'Counted',
        status: 'False',
        reason: 'Counting',
        message: 'the objects that were there before the quota are being counted; until then it refuses nothing',
      };
  return {
    hard: Object.fromEntries(entriesOf(spec?.hard)),
    used: Object.fromEntries(measured.flatMap((each) => (each.isCounted ? [[each.name, String(each.used)]] : []))),
    conditions: setCondition(status?.conditions ?? [], condition, formatTimestamp(now)).map((each) => ({ ...each })),
  };
}

function keyOf({ resource }: Pick<QuotaLimits, 'resource'>): string {
  return resource === undefined ? '' : formatGroupResource(resource);
}

function isSame(one: QuotaLimits, other: QuotaLimits | undefined): boolean {
  return (['count', 'bytes'] as const).every(
    (of) => one[of]?.max === other?.[of]?.max && one[of]?.quota === other?.[of]?.quota,
  );
}

/** Without what is no text, which an earlier release or a restored backup may have left. */
function entriesOf(hard: JsonValue | undefined): [string, string][] {
  if (!isJsonObject(hard)) return [];
  return Object.entries(hard).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}
