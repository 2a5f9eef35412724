import { expect, test } from '@jest/globals';
import { loadOptions } from '../options/load-options.ts';
import { pluginHostUrl } from './plugin-endpoints.ts';

test.each([
  { given: 'http://[10.0.0.1]:8092', url: 'http://10.0.0.1:8092' },
  { given: 'https://[10.0.0.1]', url: 'https://10.0.0.1' },
  { given: 'http://[fd00::1]:8092', url: 'http://[fd00::1]:8092' },
  { given: 'http://10.0.0.1:8092', url: 'http://10.0.0.1:8092' },
])('the URL of a host that is configured as $given', ({ given, url }) => {
  const { options } = loadOptions({ environment: {}, args: [`--svc.plugins.host-url=${given}`] });
  expect(pluginHostUrl(options, 7)).toBe(url);
});

test.each(['http://[10.0.0.300]:8092', 'http://[10.0.0]:8092', 'http://[name]:8092'])(
  '%s is not the URL of a host',
  (given) => {
    const { options } = loadOptions({ environment: {}, args: [`--svc.plugins.host-url=${given}`] });
    expect(() => pluginHostUrl(options, 7)).toThrow(/^svc.plugins.host-url is /);
  },
);
