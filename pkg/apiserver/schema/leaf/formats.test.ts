import { describe, expect, test } from '@jest/globals';
import { numberFormats, stringFormats } from './formats.ts';

describe('formats', () => {
  test.each<[format: string, good: string[], bad: string[]]>([
    ['bsonobjectid', ['507f1f77bcf86cd799439011'], ['507f1f77bcf86cd79943901', 'x07f1f77bcf86cd799439011']],
    ['byte', ['', 'YQ==', 'YWI=', 'YWJj'], ['YQ', 'YQ=a', '!!!!', '====']],
    ['cidr', ['10.0.0.0/8', 'fd00::/64'], ['10.0.0.0', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/08', '/8']],
    ['creditcard', ['4111 1111 1111 1111'], ['4111111111111112', '4111']],
    ['date', ['2024-02-29'], ['2023-02-29', '2024-13-01', '2024-2-1', '2024-02-29T00:00:00Z']],
    [
      'date-time',
      ['2024-02-29T23:59:59Z', '2024-01-01t00:00:00.123456+02:00'],
      ['2024-01-01', '2024-01-01T24:00:00Z', '2024-01-01T00:00:60Z', '2024-01-01T00:00:00', '2024-01-01 00:00:00Z'],
    ],
    ['duration', ['1h30m', '-1.5s', '0', '3 days', '10ms'], ['', '1', 'h', '1h-1m', '3 moons']],
    ['email', ['a@example.com', 'a.b+c@example.com'], ['a', '@b.com', 'a@', 'a..b@c.com', 'a b@c.com', 'a@-b.com']],
    ['hexcolor', ['#fff', 'A0B1C2'], ['#ffff', 'red']],
    [
      'hostname',
      ['example.com', 'a', 'bücher.example'],
      ['', '-a.com', 'a-.com', 'a..b', 'a_b', `${'a'.repeat(64)}.com`],
    ],
    ['ipv4', ['10.0.0.1'], ['10.0.0', '10.0.0.256', '::1', '010.0.0.1']],
    ['ipv6', ['::1', '2001:db8::1', '::ffff:10.0.0.1'], ['10.0.0.1', 'fe80::1%eth0', ':::', 'g::']],
    ['isbn', ['0-306-40615-2', '978-0-306-40615-7'], ['0-306-40615-3', '12']],
    ['k8s-short-name', ['a-b'], ['A', '-a', 'a.b', '']],
    ['k8s-long-name', ['a-b.c'], ['A.b', 'a..b']],
    [
      'mac',
      ['00:00:5e:00:53:01', '00-00-5e-00-53-01', '0000.5e00.5301'],
      ['00:00:5e:00:53', '00:00:5e:00:53:0g', '00:00-5e:00:53:01', '00005e005301'],
    ],
    ['password', ['anything'], []],
    ['rgbcolor', ['rgb(0, 128,255)'], ['rgb(0,0)', 'rgb(0,0,256)', 'rgb(a,b,c)']],
    ['ssn', ['111-22-3333'], ['111-22-333']],
    [
      'uri',
      ['https://example.com/a?b#c', '/path', 'mailto:a@b.c', 'file:///etc', 'http://[::1]:80/', 'http://u:p@h:1'],
      ['', 'example.com', 'http:', 'http://a b', '%zz', 'http://x/%zz', 'http://[::1', 'http://h:port/'],
    ],
    ['uuid', ['123e4567-e89b-12d3-a456-426614174000', '123E4567E89B12D3A456426614174000'], ['123e4567', '']],
    ['uuid4', ['123e4567-e89b-42d3-a456-426614174000'], ['123e4567-e89b-12d3-a456-426614174000']],
  ])('%s', (format, good, bad) => {
    const check = stringFormats.get(format);
    expect(good.filter((text) => !check?.(text))).toEqual([]);
    expect(bad.filter((text) => check?.(text))).toEqual([]);
  });

  test.each<[format: string, good: number[], bad: number[]]>([
    ['int32', [0, -(2 ** 31), 2 ** 31 - 1], [2 ** 31, -(2 ** 31) - 1, 0.5]],
    ['int64', [0, 2 ** 53, -(2 ** 63)], [2 ** 63, 0.5]],
    ['float', [0.1, 3e38], [1e39]],
    ['double', [1e308], []],
  ])('%s', (format, good, bad) => {
    const check = numberFormats.get(format);
    expect(good.filter((value) => !check?.(value))).toEqual([]);
    expect(bad.filter((value) => check?.(value))).toEqual([]);
  });

  // A check in more than linear time would exceed the test's time limit here.
  test('each checks a megabyte of any text', () => {
    const texts = ['a', '1', ' ', '.', '-', ':', '1h', 'A=', '@', '%41', '"', 'a.', '\ud800', '\u0000'].map((part) =>
      part.repeat(1_000_000 / part.length),
    );
    const ends = ['', '!', '@a'];
    const answers = [...stringFormats.values()].flatMap((check) =>
      texts.flatMap((text) => ends.map((end) => check(text + end))),
    );
    expect(answers.every((answer) => typeof answer === 'boolean')).toBe(true);
  });
});
