import { expect, test } from '@jest/globals';
import { loadOptions } from '../options/load-options.ts';
import { hostsOf } from './open-certificate.ts';

test.each([
  ['a name', 'Svc.Example.com', ['svc.example.com']],
  ['an address', '10.1.2.3', ['10.1.2.3']],
  ['an address of IPv6, however it is written', '2001:DB8:0::1', ['2001:db8::1']],
  ['an address with a zone, which is of this machine alone', 'fe80::1%eth0', ['fe80::1']],
  ['an address of IPv4 in the form of IPv6', '::FFFF:10.1.2.3', ['10.1.2.3']],
  ['the same in hexadecimal', '::ffff:a01:203', ['10.1.2.3']],
  ['everywhere', '0.0.0.0', []],
  ['everywhere, by IPv6', '::', []],
  ['everywhere, in its own way', '0:0::0', []],
  ['everywhere of IPv4, in the form of IPv6', '::ffff:0.0.0.0', []],
])('the certificate of a server that listens on %s', (_reason, host, names) => {
  const { options } = loadOptions({
    environment: {},
    args: [`--svc.server.tls.host=${host}`, `--svc.access.tls.host=${host}`],
  });
  expect([...new Set(hostsOf(options))]).toEqual(names);
});
