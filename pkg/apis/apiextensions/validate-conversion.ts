import { X509Certificate } from 'node:crypto';
import { fieldError, validateName, type StatusCause } from '#pkg/apimachinery/index';
import type { DefinitionConversion, DefinitionWebhook, WebhookService } from './definition.ts';
import { labelFault } from './label-name.ts';

const strategies = ['None', 'Webhook'];
const form = '; desired format: https://host[/path]';
const field = 'spec.conversion.webhook';
const configField = `${field}.clientConfig`;

/**
 * The problems of `spec.conversion`; `old` is that of the stored definition. A certificate bundle that cannot be read is
 * refused only where it replaces one that can: authors write a placeholder, which a controller replaces later.
 * Source: k8s.io/apiextensions-apiserver.
 */
export function validateConversion(
  conversion: DefinitionConversion | undefined,
  old: DefinitionConversion | undefined,
): StatusCause[] {
  if (conversion === undefined) return [];
  const { strategy, webhook } = conversion;
  if (strategy === '') return [fieldError.required('spec.conversion.strategy')];
  if (!strategies.includes(strategy))
    return [fieldError.notSupported('spec.conversion.strategy', strategy, strategies)];
  if (strategy === 'Webhook') return validateWebhook(webhook, old?.webhook);
  return webhook === undefined
    ? []
    : [fieldError.forbidden(field, 'should not be set when strategy is not set to Webhook')];
}

/** The certificates of a bundle, PEM. Undefined if it is not base64, has none, or has one that cannot be read. */
export function certificatesIn(caBundle: string): string | undefined {
  const pem = Buffer.from(caBundle, 'base64').toString('latin1');
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0 || !blocks.every(isCertificate)) return undefined;
  return `${blocks.join('\n')}\n`;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function validateWebhook(webhook: DefinitionWebhook | undefined, old: DefinitionWebhook | undefined): StatusCause[] {
  if (webhook?.clientConfig === undefined)
    return [fieldError.required(configField, 'required when strategy is set to Webhook')];
  const { url, service, caBundle = '' } = webhook.clientConfig;
  const before = old?.clientConfig?.caBundle ?? '';
  return [
    ...((url === undefined) === (service === undefined)
      ? [fieldError.required(configField, 'exactly one of url or service is required')]
      : url !== undefined
        ? validateUrl(url)
        : validateService(service!)),
    ...(caBundle !== '' && certificatesIn(caBundle) === undefined && certificatesIn(before) !== undefined
      ? [fieldError.invalid(`${configField}.caBundle`, caBundle.slice(0, 64), 'unable to load root certificates')]
      : []),
    ...validateReviewVersions(webhook.conversionReviewVersions),
  ];
}

function validateUrl(text: string): StatusCause[] {
  const urlField = `${configField}.url`;
  const url = /^[\x21-\x7e]{1,2048}$/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return [fieldError.required(urlField, `url must be a valid URL${form}`)];
  if (url.protocol !== 'https:')
    return [fieldError.invalid(urlField, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`)];
  return [
    ...(url.username + url.password === ''
      ? []
      : [fieldError.invalid(urlField, '', 'user information is not permitted in the URL')]),
    ...(url.hash === ''
      ? []
      : [fieldError.invalid(urlField, url.hash.slice(1), 'fragments are not permitted in the URL')]),
    ...(url.search === ''
      ? []
      : [fieldError.invalid(urlField, url.search.slice(1), 'query parameters are not permitted in the URL')]),
  ];
}

function validateService({ name, namespace, path = '', port = 443 }: WebhookService): StatusCause[] {
  const at = (member: string): string => `${configField}.service.${member}`;
  return [
    ...(name === ''
      ? [fieldError.required(at('name'), 'service name is required')]
      : labelFault(name) === undefined
        ? []
        : [fieldError.invalid(at('name'), name, labelFault(name)!)]),
    ...(namespace === ''
      ? [fieldError.required(at('namespace'), 'service namespace is required')]
      : validateName(namespace, 'dns-label') === undefined
        ? []
        : [fieldError.invalid(at('namespace'), namespace, validateName(namespace, 'dns-label')!)]),
    ...(port >= 1 && port <= 65_535
      ? []
      : [fieldError.invalid(at('port'), port, 'port is not valid: must be between 1 and 65535, inclusive')]),
    ...validatePath(at('path'), path),
  ];
}

function validatePath(pathField: string, path: string): StatusCause[] {
  if (path === '' || path === '/') return [];
  if (!path.startsWith('/')) return [fieldError.invalid(pathField, path, "must start with a '/'")];
  for (const [index, segment] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    const fault = segment === '' ? 'segment may not be empty' : validateName(segment, 'dns-subdomain');
    if (fault !== undefined) return [fieldError.invalid(pathField, path, `segment[${index}]: ${fault}`)];
  }
  return [];
}

function validateReviewVersions(versions: readonly string[]): StatusCause[] {
  const versionsField = `${field}.conversionReviewVersions`;
  if (versions.length === 0) return [fieldError.required(versionsField)];
  const causes = versions.flatMap((version, index) => {
    const at = `${versionsField}[${index}]`;
    if (versions.indexOf(version) < index) return [fieldError.invalid(at, version, 'duplicate version')];
    const fault = labelFault(version);
    return fault === undefined ? [] : [fieldError.invalid(at, version, fault)];
  });
  return versions.includes('v1')
    ? causes
    : [...causes, fieldError.invalid(versionsField, versions, 'must include at least one of v1')];
}
