import { isJsonObject, type ApiObject } from '#pkg/apimachinery/index';

/**
 * The definition with Kubernetes' defaults: singular (the kind in lower case), listKind (`<kind>List`), conversion None,
 * and port 443 of a webhook's service. Returns a copy; values of an unexpected type stay for validation to refuse.
 */
export function defaultDefinition<T extends ApiObject<unknown, unknown>>(definition: T): T {
  const { spec } = definition;
  if (!isJsonObject(spec)) return definition;
  return {
    ...definition,
    spec: {
      ...spec,
      ...(isJsonObject(spec['names']) ? { names: defaultNames(spec['names']) } : {}),
      conversion: defaultConversion(spec['conversion'] ?? { strategy: 'None' }),
    },
  };
}

function defaultConversion(conversion: unknown): unknown {
  const webhook = memberOf(conversion, 'webhook');
  const clientConfig = memberOf(webhook, 'clientConfig');
  const service = memberOf(clientConfig, 'service');
  if (service === undefined || service['port'] !== undefined) return conversion;
  const withPort = { ...clientConfig, service: { ...service, port: 443 } };
  return { ...(conversion as object), webhook: { ...webhook, clientConfig: withPort } };
}

function memberOf(value: unknown, name: string): Record<string, unknown> | undefined {
  const member = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(member) ? member : undefined;
}

function defaultNames(names: Record<string, unknown>): Record<string, unknown> {
  const { kind } = names;
  if (typeof kind !== 'string' || kind === '') return names;
  return { ...names, singular: names['singular'] || kind.toLowerCase(), listKind: names['listKind'] || `${kind}List` };
}
