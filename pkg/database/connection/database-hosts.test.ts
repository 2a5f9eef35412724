import { describe, expect, test } from '@jest/globals';
import { DatabaseError } from '../database-error.ts';
import { takeHosts } from './database-hosts.ts';

const any = 'any' as const;
const readWrite = 'read-write' as const;

test.each([
  { url: 'postgres://db/svc', expected: { url: 'postgres://db/svc', hosts: undefined } },
  { url: 'postgres:///svc?host=/run', expected: { url: 'postgres:///svc?host=/run', hosts: undefined } },
  { url: 'postgres://db', expected: { url: 'postgres://db', hosts: undefined } },
  {
    url: 'postgres://db/svc?target_session_attrs=any&sslmode=require',
    expected: { url: 'postgres://db/svc?sslmode=require', hosts: undefined },
  },
  {
    url: 'postgres://u:p,q@a,b:6432/svc?target_session_attrs=read-write',
    expected: {
      url: 'postgres://u:p,q@a/svc',
      hosts: {
        hosts: [
          { host: 'a', port: 5432 },
          { host: 'b', port: 6432 },
        ],
        target: readWrite,
      },
    },
  },
  {
    url: 'postgresql://u@[::1]:6000,10.0.0.1/svc?sslmode=require&target_session_attrs=primary',
    expected: {
      url: 'postgresql://u@[::1]:6000/svc?sslmode=require',
      hosts: {
        hosts: [
          { host: '::1', port: 6000 },
          { host: '10.0.0.1', port: 5432 },
        ],
        target: 'primary' as const,
      },
    },
  },
  {
    url: 'postgres://%2Frun%2Fa:6000,%2Frun%2Fb',
    expected: {
      url: 'postgres://%2Frun%2Fa:6000',
      hosts: {
        hosts: [
          { host: '/run/a', port: 6000 },
          { host: '/run/b', port: 5432 },
        ],
        target: any,
      },
    },
  },
  {
    url: 'postgres://db/svc?target_session_attrs=read-write',
    expected: { url: 'postgres://db/svc', hosts: { hosts: [{ host: 'db', port: 5432 }], target: readWrite } },
  },
])('$url', ({ url, expected }) => {
  expect(takeHosts(url)).toEqual(expected);
});

describe('refused, without the url in the message', () => {
  test.each([
    ['postgres://u:secret@a,/svc', /has a host that cannot be read/],
    ['postgres://u:secret@a,b:x/svc', /has a host that cannot be read/],
    ['postgres://u:secret@a,b:70000/svc', /has a host that cannot be read/],
    ['postgres://u:secret@a,b:0/svc', /has a host that cannot be read/],
    ['postgres://u:secret@a,%zz/svc', /has a host that cannot be read/],
    ['postgres://u:secret@a,[::1/svc', /has a host that cannot be read/],
    [`postgres://u:secret@${Array.from({ length: 17 }, (_, i) => `h${i}`).join()}/svc`, /more than 16 hosts/],
    ['postgres://u:secret@a,b/svc?target_session_attrs=standby', /not one of any, read-write, primary/],
    ['postgres://u:secret@a/svc?target_session_attrs=any&target_session_attrs=primary', /not one of any/],
  ])('%s', (url, says) => {
    let refused: unknown;
    try {
      takeHosts(url);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(DatabaseError);
    expect((refused as Error).message).toMatch(says);
    expect((refused as Error).message).not.toContain('secret');
  });
});
