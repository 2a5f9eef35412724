import { isPrototypeKey } from '#pkg/apimachinery/index';
import type { EndpointAudience, PluginEndpoint } from '#pkg/apis/index';

/** One segment of a path: a literal or a named parameter. */
export type EndpointPathSegment = { literal: string } | { parameter: string };

const maxLength = 1024;
const maxSegments = 32;
const literalForm = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,253}$/;
const parameterForm = /^\{([A-Za-z_][A-Za-z0-9_]{0,62})\}$/;

const groupPrefixes: Readonly<Record<EndpointAudience, string>> = {
  console: 'console.api.',
  uc: 'uc.api.',
  public: 'api.',
};

/** `/apis/api.blog.example.com/v1`: the path prefix of all endpoints of one audience, group and version. */
export function endpointPrefix({
  audience,
  group,
  version,
}: Pick<PluginEndpoint, 'audience' | 'group' | 'version'>): string {
  return `/apis/${groupPrefixes[audience]}${group}/${version}`;
}

/** `PUT /apis/console.api.blog.example.com/v1/posts/{name}/publication`: how callers name an endpoint. */
export function endpointRoute(
  endpoint: Pick<PluginEndpoint, 'audience' | 'group' | 'version' | 'method' | 'path'>,
): string {
  return `${endpoint.method} ${endpointPrefix(endpoint)}${endpoint.path}`;
}

/** The segments of a template such as `/posts/{name}/publication`; if it is invalid, the rule that it breaks. */
export function parseEndpointPath(path: string): EndpointPathSegment[] | string {
  if (path.length > maxLength) return `must be at most ${maxLength} characters`;
  if (!path.startsWith('/') || path.length === 1) return 'must begin with a slash and have a segment';
  const parts = path.slice(1).split('/');
  if (parts.length > maxSegments) return `must have at most ${maxSegments} segments`;
  const segments: EndpointPathSegment[] = [];
  const names = new Set<string>();
  for (const part of parts) {
    const name = parameterForm.exec(part)?.[1];
    if (name === undefined) {
      if (!literalForm.test(part))
        return `has the segment ${JSON.stringify(part.slice(0, 64))}: one is letters, digits, '.', '_', '~' and '-', or {parameter}`;
      segments.push({ literal: part });
      continue;
    }
    if (names.has(name) || isPrototypeKey(name))
      return `must not have a parameter ${name}${names.has(name) ? ' twice' : ''}`;
    names.add(name);
    segments.push({ parameter: name });
  }
  return segments;
}
