import { expect, test } from '@jest/globals';
import type { DefinitionConversion, DefinitionWebhook } from './definition.ts';
import { validateConversion } from './validate-conversion.ts';

const field = 'spec.conversion.webhook';
const config = `${field}.clientConfig`;
const url = 'https://hooks.example.com/convert';

function webhook(clientConfig: DefinitionWebhook['clientConfig'], versions = ['v1']): DefinitionConversion {
  return {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: versions, ...(clientConfig === undefined ? {} : { clientConfig }) },
  };
}

function service(change: object): DefinitionConversion {
  return webhook({ service: { name: 'hook', namespace: 'tools', port: 443, ...change } });
}

const bundle = Buffer.from(
  `-----BEGIN CERTIFICATE-----
MIIBRjCB7aADAgECAgEBMAoGCCqGSM49BAMCMA8xDTALBgNVBAMTBHRlc3QwHhcN
-----END CERTIFICATE-----`,
).toString('base64');

test.each<{ reason: string; conversion: DefinitionConversion | undefined; texts: string[] }>([
  { reason: 'no conversion', conversion: undefined, texts: [] },
  { reason: 'a URL', conversion: webhook({ url }), texts: [] },
  { reason: 'a service', conversion: service({ path: '/convert' }), texts: [] },
  { reason: 'v1 among others', conversion: webhook({ url }, ['v1beta1', 'v1']), texts: [] },
  { reason: 'a bundle that a controller replaces later', conversion: webhook({ url, caBundle: 'Cg==' }), texts: [] },
  { reason: 'a bundle that cannot be read', conversion: webhook({ url, caBundle: bundle }), texts: [] },
  {
    reason: 'no webhook',
    conversion: { strategy: 'Webhook' },
    texts: [`${config}: Required value: required when strategy is set to Webhook`],
  },
  {
    reason: 'no client config',
    conversion: webhook(undefined),
    texts: [`${config}: Required value: required when strategy is set to Webhook`],
  },
  {
    reason: 'neither URL nor service',
    conversion: webhook({}),
    texts: [`${config}: Required value: exactly one of url or service is required`],
  },
  {
    reason: 'both',
    conversion: webhook({ url, service: { name: 'hook', namespace: 'tools' } }),
    texts: [`${config}: Required value: exactly one of url or service is required`],
  },
  {
    reason: 'no URL',
    conversion: webhook({ url: 'hooks' }),
    texts: [`${config}.url: Required value: url must be a valid URL; desired format: https://host[/path]`],
  },
  {
    reason: 'no TLS',
    conversion: webhook({ url: 'http://hooks.example.com' }),
    texts: [
      `${config}.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
    ],
  },
  {
    reason: 'what a URL may not have',
    conversion: webhook({ url: 'https://u:p@hooks.example.com/?a=b#c' }),
    texts: [
      `${config}.url: Invalid value: "": user information is not permitted in the URL`,
      `${config}.url: Invalid value: "c": fragments are not permitted in the URL`,
      `${config}.url: Invalid value: "?a=b": query parameters are not permitted in the URL`,
    ].map((text) => text.replace('"?a=b"', '"a=b"')),
  },
  {
    reason: 'a service without names',
    conversion: service({ name: '', namespace: '' }),
    texts: [
      `${config}.service.name: Required value: service name is required`,
      `${config}.service.namespace: Required value: service namespace is required`,
    ],
  },
  {
    reason: 'a service with another port and path',
    conversion: service({ port: 70_000, path: 'convert' }),
    texts: [
      `${config}.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive`,
      `${config}.service.path: Invalid value: "convert": must start with a '/'`,
    ],
  },
  {
    reason: 'a service whose name is part of another host',
    conversion: service({ name: 'evil.example.com/#' }),
    texts: [expect.stringContaining(`${config}.service.name: Invalid value`) as unknown as string],
  },
  {
    reason: 'only an older review',
    conversion: webhook({ url }, ['v1beta1']),
    texts: [`${field}.conversionReviewVersions: Invalid value: ["v1beta1"]: must include at least one of v1`],
  },
  {
    reason: 'no review',
    conversion: webhook({ url }, []),
    texts: [`${field}.conversionReviewVersions: Required value`],
  },
  {
    reason: 'a review twice',
    conversion: webhook({ url }, ['v1', 'v1']),
    texts: [`${field}.conversionReviewVersions[1]: Invalid value: "v1": duplicate version`],
  },
])('$reason', ({ conversion, texts }) => {
  expect(validateConversion(conversion, undefined).map((cause) => `${cause.field}: ${cause.message}`)).toEqual(texts);
});
