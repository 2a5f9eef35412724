import { expect, test } from '@jest/globals';
import { accessHttpOptions, apiHttpOptions } from './api-http-options.ts';
import { loadOptions } from '../options/load-options.ts';

const optionsOf = (...args: string[]): ReturnType<typeof apiHttpOptions> =>
  apiHttpOptions(loadOptions({ environment: {}, args }).options);

test('limits are on by default', () => {
  expect(optionsOf().maxInFlight).toEqual({
    total: 256,
    reserved: 32,
    bulk: 8,
    perUser: 64,
    maxWaitMs: 1000,
    watches: 8000,
    watchesPerUser: 2000,
    wrongCredentialsPerMinute: 2048,
    senders: { total: 1024, perAddress: 16, minBytesPerSecond: 512 },
  });
  expect(optionsOf().limits).toMatchObject({
    connections: 10_000,
    connectionsPerAddress: 0,
    requestsPerConnection: 0,
    urlBytes: 65_536,
    headerBytes: 32_768,
    headerCount: 256,
    headersTimeoutMs: 30_000,
    keepAliveTimeoutMs: 75_000,
  });
});

test('0 is no limit', () => {
  const off = [
    'max-in-flight',
    'max-in-flight-per-user',
    'max-in-flight-bulk',
    'reserved-for-system',
    'max-watches',
    'max-watches-per-user',
    'max-wrong-credentials',
    'max-senders',
    'max-senders-per-address',
  ].map((name) => `--svc.http.${name}=0`);
  expect(optionsOf(...off, '--svc.http.min-body-rate=0B').maxInFlight).toEqual({
    reserved: 0,
    maxWaitMs: 1000,
    senders: {},
  });
});

test('browsers are told to use https only if that is configured, with a certificate of the operator', () => {
  const own = '--svc.tls.cert-file=/x';
  expect(optionsOf(own).strictTransportDays).toBeUndefined();
  expect(optionsOf('--svc.http.hsts-days=7').strictTransportDays).toBeUndefined();
  expect(optionsOf(own, '--svc.http.hsts-days=7').strictTransportDays).toBe(7);
  expect(optionsOf(own, '--svc.http.hsts-days=0').strictTransportDays).toBe(0);
});

test('a connection that waits for a response is not treated as stalled', () => {
  expect(optionsOf('--svc.api.request-timeout=10m').limits?.stallTimeoutMs).toBe(1_200_000);
});

test.each([
  { args: [], is: 2048 },
  { args: ['--svc.access.throttle.anonymous=100'], is: 100 },
  { args: ['--svc.access.throttle.anonymous=100', '--svc.http.max-wrong-credentials=50'], is: 50 },
  { args: ['--svc.access.throttle.anonymous=100', '--svc.http.max-wrong-credentials=0'], is: undefined },
])('access management looks up no more wrong credentials than its throttle allows: $args', ({ args, is }) => {
  const { options } = loadOptions({ environment: {}, args });
  expect(accessHttpOptions(options)).toEqual({
    ...apiHttpOptions(options),
    maxInFlight: {
      ...apiHttpOptions(options).maxInFlight,
      ...(is === undefined ? {} : { wrongCredentialsPerMinute: is }),
    },
  });
});
