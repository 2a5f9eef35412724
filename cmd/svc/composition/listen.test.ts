import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { warnWithoutTls } from './listen.ts';

function warned(address: string): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  warnWithoutTls({ address, port: 8091, family: 'IPv4' }, 'svc.access.host', log);
  return lines;
}

test.each(['0.0.0.0', '::', '10.0.0.7', '2001:db8::1', '::ffff:10.0.0.7'])(
  'a port without TLS on %s causes a warning',
  (address) => {
    expect(warned(address)).toEqual([
      expect.objectContaining({
        level: 40,
        option: 'svc.access.host',
        address,
        port: 8091,
        msg: expect.stringContaining('no TLS'),
      }),
    ]);
  },
);

test.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('a port on %s causes none', (address) => {
  expect(warned(address)).toEqual([]);
});

test('a host name counts as its address', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  expect(warned((server.address() as AddressInfo).address)).toEqual([]);
  await new Promise((resolve) => server.close(resolve));
});
