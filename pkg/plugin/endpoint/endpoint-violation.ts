import { validateName } from '#pkg/apimachinery/index';
import type { PluginEndpoint } from '#pkg/apis/index';
import { endpointPrefix, parseEndpointPath } from './endpoint-path.ts';

const audiences: ReadonlySet<string> = new Set(['console', 'uc', 'public']);
const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const operationForm = /^[A-Za-z_][A-Za-z0-9_-]{0,126}$/;

/**
 * The rule that an endpoint breaks regardless of other endpoints, as a sentence that names the field; undefined if it
 * is valid.
 */
export function endpointViolation(endpoint: PluginEndpoint): string | undefined {
  const { audience, group, version, method, path, operationId } = endpoint;
  if (!audiences.has(audience)) return 'audience must be console, uc or public';
  if (!methods.has(method)) return `method must be one of ${[...methods].join(', ')}`;
  if (typeof operationId !== 'string' || !operationForm.test(operationId))
    return 'operationId must be a letter and at most 126 more letters, digits, underscores or hyphens';
  const ofGroup = typeof group === 'string' ? validateName(group, 'dns-subdomain') : 'must be a text';
  if (ofGroup !== undefined) return `group ${ofGroup}`;
  if (group === 'svc.run' || group.endsWith('.svc.run'))
    return 'group must not be svc.run or end in .svc.run: those are reserved for the platform';
  const ofVersion = typeof version === 'string' ? validateName(version, 'dns-label') : 'must be a text';
  if (ofVersion !== undefined) return `version ${ofVersion}`;
  if (endpointPrefix(endpoint).split('/')[2]!.length > 253) return 'group is too long';
  const segments = typeof path === 'string' ? parseEndpointPath(path) : 'must be a text';
  return typeof segments === 'string' ? `path ${segments}` : undefined;
}
